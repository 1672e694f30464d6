"use strict";
// A map of areas on a canvas: shaded, with flow lines; wheel, drag, pinch, buttons and keys move it.
(() => {
  const { el } = odanon;
  const closest = 60; // largest zoom, as a multiple of the view that shows everything

  const outline = (rings) => {
    const path = new Path2D();
    for (const ring of rings) {
      path.moveTo(ring[0], ring[1]);
      for (let i = 2; i < ring.length; i += 2) path.lineTo(ring[i], ring[i + 1]);
      path.closePath();
    }
    return path;
  };

  // zones: from odanon.readZones. on: {hover(zones, event), pick(zones)} with the zones under the pointer, smallest first;
  // optional view, the box that counts as everything, first, the box to begin with, and legend, an element that several maps share.
  odanon.map = (host, zones, on) => {
    const canvas = el("canvas", {
      tabindex: 0,
      role: "application",
      "aria-label":
        "Map of areas. Arrow keys move, plus and minus zoom, 0 shows everything, Escape clears the choice. The table lists the same areas.",
    });
    const bar = el("div", { class: "scalebar", "aria-hidden": "true" });
    const legend = on.legend || el("div", { class: "legend" });
    const button = (label, sign, act) =>
      el("button", { type: "button", "aria-label": label, title: label, click: act }, sign);
    const buttons = el(
      "div",
      { class: "zoom" },
      button("Zoom in", "+", () => zoom(1.6)),
      button("Zoom out", "−", () => zoom(1 / 1.6)),
      button("Show everything", "⤢", () => home()),
    );
    host.append(
      canvas,
      buttons,
      el("div", { class: "north", title: "North is up", "aria-hidden": "true" }, "N"),
      bar,
      ...(on.legend ? [] : [legend]),
    );

    const paint = canvas.getContext("2d");
    const drawn = zones.filter((zone) => zone.rings.length);
    drawn.sort((a, b) => b.km2 - a.km2 || a.index - b.index); // small areas lie on top
    const paths = new Map(drawn.map((zone) => [zone.index, outline(zone.rings)]));
    const full =
      on.view ||
      drawn.reduce(
        (box, zone) => [
          Math.min(box[0], zone.box[0]),
          Math.min(box[1], zone.box[1]),
          Math.max(box[2], zone.box[2]),
          Math.max(box[3], zone.box[3]),
        ],
        [Infinity, Infinity, -Infinity, -Infinity],
      );

    let size = { width: 0, height: 0 };
    let view = { scale: 1, x: 0, y: 0 }; // pixels per metre; the pixel of the plane's origin
    let base = 1;
    let untouched = true;
    let shown = { fills: new Map(), lines: [], chosen: -1, asked: -1 };
    let marked = -1;
    let waiting = false;

    const redraw = () => {
      if (!waiting) {
        waiting = true;
        requestAnimationFrame(() => {
          waiting = false;
          render();
        });
      }
    };

    const render = () => {
      const ratio = devicePixelRatio || 1;
      const world = () =>
        paint.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
      const px = 1 / view.scale;
      paint.setTransform(1, 0, 0, 1, 0, 0);
      paint.clearRect(0, 0, canvas.width, canvas.height);
      world();
      const seen = drawn.filter((zone) => {
        const b = zone.box;
        return (
          b[2] * view.scale + view.x > 0 &&
          b[0] * view.scale + view.x < size.width &&
          b[3] * view.scale + view.y > 0 &&
          b[1] * view.scale + view.y < size.height
        );
      });
      paint.fillStyle = odanon.css("--land");
      paint.strokeStyle = paint.fillStyle;
      paint.lineWidth = px;
      for (const zone of seen) {
        paint.fill(paths.get(zone.index), "evenodd");
        paint.stroke(paths.get(zone.index));
      }
      paint.lineJoin = "round";
      paint.strokeStyle = odanon.css("--map-line");
      paint.lineWidth = 0.7 * px;
      for (const zone of seen) {
        const colour = shown.fills.get(zone.index);
        if (!colour) continue;
        paint.fillStyle = colour;
        paint.fill(paths.get(zone.index), "evenodd");
        paint.stroke(paths.get(zone.index));
      }
      const edge = (index, halo, colour, width) => {
        if (!paths.has(index)) return;
        paint.strokeStyle = halo;
        paint.lineWidth = (width + 2.5) * px;
        paint.stroke(paths.get(index));
        paint.strokeStyle = colour;
        paint.lineWidth = width * px;
        paint.stroke(paths.get(index));
      };
      drawLines(ratio);
      world();
      if (shown.asked !== shown.chosen) {
        paint.setLineDash([5 * px, 4 * px]);
        edge(shown.asked, "transparent", odanon.css("--ink"), 1.5);
        paint.setLineDash([]);
      }
      edge(shown.chosen, odanon.css("--paper"), odanon.css("--ink"), 2);
      edge(marked, odanon.css("--paper"), odanon.css("--mark"), 2);
      showScale();
    };

    // Lines grow from pale at the origin to full at the destination; a dot ends each; a ring is a flow within one area.
    const drawLines = (ratio) => {
      paint.setTransform(ratio, 0, 0, ratio, 0, 0);
      paint.lineCap = "round";
      const at = (zone) => [zones[zone].x * view.scale + view.x, zones[zone].y * view.scale + view.y];
      const largest = Math.max(...shown.lines.map((line) => line.trips), 1);
      const ink = odanon.css("--flow");
      const pale = odanon.css("--flow-pale");
      const halo = odanon.css("--paper");
      for (const line of [...shown.lines].sort((a, b) => a.trips - b.trips)) {
        if (zones[line.from].x === null || zones[line.to].x === null) continue;
        const width = 0.7 + 3.6 * Math.sqrt(line.trips / largest);
        const [[ax, ay], [bx, by]] = [at(line.from), at(line.to)];
        if (line.from === line.to) {
          paint.globalAlpha = 0.9;
          paint.strokeStyle = ink;
          paint.lineWidth = width;
          paint.beginPath();
          paint.arc(ax, ay, 5 + width, 0, 2 * Math.PI);
          paint.stroke();
          continue;
        }
        const bend = 0.16;
        const [cx, cy] = [(ax + bx) / 2 - (by - ay) * bend, (ay + by) / 2 + (bx - ax) * bend];
        const curve = () => {
          paint.beginPath();
          paint.moveTo(ax, ay);
          paint.quadraticCurveTo(cx, cy, bx, by);
          paint.stroke();
        };
        paint.globalAlpha = 0.35;
        paint.strokeStyle = halo;
        paint.lineWidth = width + 1.4;
        curve();
        const shade = paint.createLinearGradient(ax, ay, bx, by);
        shade.addColorStop(0, pale);
        shade.addColorStop(1, ink);
        paint.globalAlpha = 0.9;
        paint.strokeStyle = shade;
        paint.lineWidth = width;
        curve();
        paint.fillStyle = ink;
        paint.beginPath();
        paint.arc(bx, by, 1 + width / 2, 0, 2 * Math.PI);
        paint.fill();
      }
      paint.globalAlpha = 1;
    };

    const showScale = () => {
      const metres = 110 / view.scale;
      const power = 10 ** Math.floor(Math.log10(metres));
      const length = power * [5, 2, 1].find((m) => m * power <= metres);
      bar.style.width = `${length * view.scale}px`;
      bar.textContent = length >= 1000 ? `${length / 1000} km` : `${length} m`;
    };

    const fit = (box) => {
      const room = 24;
      const scale = Math.min(
        (size.width - 2 * room) / Math.max(1, box[2] - box[0]),
        (size.height - 2 * room) / Math.max(1, box[3] - box[1]),
      );
      return {
        scale,
        x: size.width / 2 - (scale * (box[0] + box[2])) / 2,
        y: size.height / 2 - (scale * (box[1] + box[3])) / 2,
      };
    };
    const home = () => {
      view = fit(full);
      base = view.scale;
      untouched = !on.first;
      redraw();
    };
    const zoom = (factor, x = size.width / 2, y = size.height / 2) => {
      const scale = Math.min(fit(on.first || full).scale * closest, Math.max(base, view.scale * factor));
      if (scale === view.scale) return false;
      if (scale === base) {
        home();
        return true;
      }
      const f = scale / view.scale;
      untouched = false;
      view = { scale, x: x - (x - view.x) * f, y: y - (y - view.y) * f };
      redraw();
      return true;
    };
    const pan = (dx, dy) => {
      untouched = false;
      view = { ...view, x: view.x + dx, y: view.y + dy };
      redraw();
    };

    const under = (event) => {
      const box = canvas.getBoundingClientRect();
      const [x, y] = [
        (event.clientX - box.left - view.x) / view.scale,
        (event.clientY - box.top - view.y) / view.scale,
      ];
      return drawn
        .filter((zone) => odanon.inside(zone, x, y))
        .map((zone) => zone.index)
        .reverse();
    };

    // A page that scrolls down over the map is let through, because there is nothing further out to zoom to.
    canvas.addEventListener(
      "wheel",
      (event) => {
        const box = canvas.getBoundingClientRect();
        const steps = event.deltaY * (event.deltaMode ? 20 : 1);
        if (zoom(Math.exp(-steps / 400), event.clientX - box.left, event.clientY - box.top)) event.preventDefault();
      },
      { passive: false },
    );

    const fingers = new Map();
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      if (!fingers.size) moved = 0;
      fingers.set(event.pointerId, event);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) {
        on.hover(under(event), event);
        return;
      }
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < 4) return;
      canvas.setPointerCapture(event.pointerId); // a drag goes on outside the map
      odanon.tip.hide();
      const still = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
      fingers.set(event.pointerId, event);
      if (still) {
        const apart = (p) => Math.hypot(p.clientX - still.clientX, p.clientY - still.clientY);
        const box = canvas.getBoundingClientRect();
        zoom(apart(event) / Math.max(1, apart(before)), still.clientX - box.left, still.clientY - box.top);
      } else pan(dx, dy);
    });
    const lift = (event) => {
      const last = fingers.delete(event.pointerId) && !fingers.size;
      if (last && event.type === "pointerup" && moved < 4) on.pick(under(event));
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", () => {
      odanon.tip.hide();
      on.hover([], null);
    });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (moves[event.key]) pan(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") zoom(1.6);
      else if (event.key === "-") zoom(1 / 1.6);
      else if (event.key === "0") home();
      else return;
      event.preventDefault();
    });

    const resize = () => {
      size = { width: canvas.clientWidth, height: canvas.clientHeight };
      const ratio = devicePixelRatio || 1;
      canvas.width = Math.round(size.width * ratio);
      canvas.height = Math.round(size.height * ratio);
      base = fit(full).scale;
      if (untouched) view = fit(on.first || full);
      render();
    };
    new ResizeObserver(resize).observe(canvas);
    resize();

    return {
      // fills: Map of zone to colour; lines: [{from, to, trips}]; chosen: the zone whose flows are shown, asked:
      // the zone that was asked for (dashed where another stands in), both -1 for none.
      show: (layer) => {
        shown = layer;
        redraw();
      },
      mark: (zone) => {
        if (zone !== marked) {
          marked = zone;
          redraw();
        }
      },
      legend: (title, classes, nothing) => {
        const label = (i) => {
          const from = i ? odanon.number(classes.breaks[i - 1]) : null;
          const to = i < classes.breaks.length ? odanon.number(classes.breaks[i]) : null;
          return from === null
            ? to === null
              ? "all alike"
              : `under ${to}`
            : to === null
              ? `${from} and more`
              : `${from} – ${to}`;
        };
        const item = (colour, words) => el("li", {}, el("i", { style: `background:${colour}` }), words);
        legend.replaceChildren(
          el("strong", {}, title),
          el(
            "ul",
            {},
            ...classes.colours.map((colour, i) => item(colour, label(i))).reverse(),
            item("var(--land)", nothing),
          ),
        );
      },
      redraw,
    };
  };
})();
