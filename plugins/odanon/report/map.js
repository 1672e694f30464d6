"use strict";
// A map of areas on a canvas: shaded, with flow lines; wheel, drag, pinch, buttons and keys move it.
(() => {
  const { el } = odanon;
  const nowhere = [-1, -1, 1, 1]; // the box of no zones
  const closest = 60; // largest zoom, as a multiple of the view that shows everything

  // zones: from odanon.readZones. on: {hover(zones, event), pick(zones)} with the zones under the pointer, smallest first;
  // optional view, the box that counts as everything, first, the box to begin with, and legend, an element that several maps share; below(paint,
  // view, size), what lies under the areas and lets them be pale, over(paint, view), what lies on them, and moved(), after the view has changed.
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
    let first = on.first;
    let drawn, full, scene, rank;
    const load = (list) => {
      zones = list;
      drawn = zones.filter((zone) => zone.rings.length);
      drawn.sort((a, b) => b.km2 - a.km2 || a.index - b.index); // small areas lie on top
      rank = new Map(drawn.map((zone, i) => [zone.index, i]));
      full = on.view || (drawn.length ? odanon.boxAround(drawn) : nowhere);
      scene = odanon.scene(drawn, drawn.length ? odanon.boxAround(drawn) : nowhere);
    };
    load(zones);

    let size = { width: 0, height: 0 };
    let view = { scale: 1, x: 0, y: 0 }; // pixels per metre; the pixel of the plane's origin
    let base = 1;
    let untouched = true;
    let shown = { fills: new Map(), lines: [], chosen: -1, asked: -1 };
    let marked = -1;
    let tool = null;
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
    const film = odanon.film(redraw);
    const repaint = () => {
      film.change();
      redraw();
    };

    const render = () => {
      if (!size.width || !size.height) return;
      const ratio = devicePixelRatio || 1;
      paint.setTransform(1, 0, 0, 1, 0, 0);
      paint.clearRect(0, 0, canvas.width, canvas.height);
      paint.setTransform(ratio, 0, 0, ratio, 0, 0);
      if (on.below && on.below(paint, view, size)) paint.globalAlpha = 0.72;
      film.draw(paint, view, size, ratio, (...to) => scene.steps(...to, shown, zones));
      paint.globalAlpha = 1;
      paint.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
      const px = 1 / view.scale;
      const edge = (index, halo, colour, width) => {
        const path = rank.has(index) && scene.outline(zones[index]);
        if (!path) return;
        paint.strokeStyle = halo;
        paint.lineWidth = (width + 2.5) * px;
        paint.stroke(path);
        paint.strokeStyle = colour;
        paint.lineWidth = width * px;
        paint.stroke(path);
      };
      if (shown.asked !== shown.chosen) {
        paint.setLineDash([5 * px, 4 * px]);
        edge(shown.asked, "transparent", odanon.css("--ink"), 1.5);
        paint.setLineDash([]);
      }
      edge(shown.chosen, odanon.css("--paper"), odanon.css("--ink"), 2);
      edge(marked, odanon.css("--paper"), odanon.css("--mark"), 2);
      paint.setTransform(ratio, 0, 0, ratio, 0, 0);
      if (on.over) on.over(paint, view, size);
      showScale();
    };

    let scaleShown = 0;
    const showScale = () => {
      if (scaleShown === view.scale) return; // its width would make the browser lay out the page in every frame of a drag
      scaleShown = view.scale;
      const metres = 110 / view.scale;
      const power = 10 ** Math.floor(Math.log10(metres));
      const length = power * [5, 2, 1].find((m) => m * power <= metres);
      bar.style.width = `${length * view.scale}px`;
      bar.textContent = length >= 1000 ? `${length / 1000} km` : `${length} m`;
    };

    const fit = (box) => {
      const room = 24;
      const scale = Math.min(
        Math.max(1, size.width - 2 * room) / Math.max(1, box[2] - box[0]),
        Math.max(1, size.height - 2 * room) / Math.max(1, box[3] - box[1]),
      );
      return {
        scale,
        x: size.width / 2 - (scale * (box[0] + box[2])) / 2,
        y: size.height / 2 - (scale * (box[1] + box[3])) / 2,
      };
    };
    const look = (next, own) => {
      view = next;
      untouched = !own;
      redraw();
      if (on.moved) on.moved();
    };
    const home = () => {
      look(fit(full), first);
      base = view.scale;
    };
    const zoom = (factor, x = size.width / 2, y = size.height / 2) => {
      const scale = Math.min(fit(first || full).scale * closest, Math.max(base, view.scale * factor));
      if (scale === view.scale) return false;
      if (scale === base) {
        home();
        return true;
      }
      const f = scale / view.scale;
      look({ scale, x: x - (x - view.x) * f, y: y - (y - view.y) * f }, true);
      return true;
    };
    const pan = (dx, dy) => look({ ...view, x: view.x + dx, y: view.y + dy }, true);

    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [(event.clientX - box.left - view.x) / view.scale, (event.clientY - box.top - view.y) / view.scale];
    };
    const under = (event) =>
      scene
        .at(...place(event))
        .sort((a, b) => rank.get(b.index) - rank.get(a.index))
        .map((zone) => zone.index);
    odanon.hands(canvas, {
      zoom,
      pan,
      home,
      tool: () => tool,
      hover: (event) => on.hover(event ? under(event) : [], event),
      pick: (event) => on.pick(under(event)),
    });

    const resize = () => {
      const before = size;
      size = { width: canvas.clientWidth, height: canvas.clientHeight };
      const ratio = devicePixelRatio || 1;
      canvas.width = Math.round(size.width * ratio);
      canvas.height = Math.round(size.height * ratio);
      base = fit(full).scale;
      if (untouched) view = fit(first || full);
      else if (before.width)
        view = { ...view, x: view.x + (size.width - before.width) / 2, y: view.y + (size.height - before.height) / 2 };
      render();
    };
    new ResizeObserver(resize).observe(canvas);
    resize();

    return {
      canvas,
      redraw,
      place,
      under,
      // Other zones on the same plane; the view stays once somebody has moved it.
      load: (list, box) => {
        load(list);
        first = box;
        shown = { fills: new Map(), lines: [], chosen: -1, asked: -1 };
        marked = -1;
        film.forget();
        base = fit(full).scale;
        if (untouched) view = fit(first || full);
        redraw();
      },
      // The view, and another one; null for the first.
      view: () => ({ ...view, untouched, size }),
      look: (next) => (next ? look(next, true) : look(fit(first || full), false)),
      use: (next) => {
        tool = next;
        redraw();
      },
      // fills: Map of zone to colour; hatched: those that are known coarsely; lines: [{from, to, trips}]; chosen: the zone whose flows are
      // shown, asked: the zone that was asked for (dashed where another stands in), both -1 for none.
      show: (layer) => {
        shown = layer;
        repaint();
      },
      mark: (zone) => {
        if (zone !== marked) {
          marked = zone;
          redraw();
        }
      },
      // hatched: what stripes mean, where there are some.
      legend: (title, classes, nothing, hatched) => {
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
        const item = (colour, words, kind) => {
          const swatch = el("i", { class: kind });
          swatch.style.backgroundColor = colour;
          return el("li", {}, swatch, words);
        };
        legend.replaceChildren(
          el("strong", {}, title),
          el(
            "ul",
            {},
            ...classes.colours.map((colour, i) => item(colour, label(i))).reverse(),
            ...(hatched ? [item(classes.colours.at(0), hatched, "striped")] : []),
            item("var(--land)", nothing),
          ),
        );
      },
    };
  };
})();
