"use strict";
// Tools on the map: draw a polygon or a rectangle, take a published area, move the corners of an area; with pointer or keys.
(() => {
  const near = 11; // pixels
  const hints = {
    polygon:
      "Press the map corner by corner; press the first corner again, or Finish, to close. Keys: arrows move the cross (Shift: finely), Enter sets a corner, Backspace takes one back, Escape cancels.",
    rectangle:
      "Drag from one corner to the opposite one. Keys: arrows move the cross (Shift: finely), Enter sets a corner, Escape cancels.",
    zone: "Press a published area to take its outline; it gives the narrowest bounds. Keys: arrows move the cross, Enter takes the area below it, Escape ends.",
    edit: "Drag corners; drag a small dot to add one. Keys: N and P choose a corner, arrows move it (Shift: finely), Delete removes it, Enter finishes, Escape cancels.",
  };

  // on: {plane(), drawn(corners), edited(corners), take(event), hover(event), said(text), ended()}; corners in degrees.
  odanon.tools = (map, on) => {
    let kind = null;
    let corners = []; // on the plane
    let cursor = null; // where the next corner would lie
    let cross = null; // pixels of the map, once keys are used
    let held = -1; // the corner that is moved

    const onScreen = ([x, y]) => {
      const view = map.view();
      return [x * view.scale + view.x, y * view.scale + view.y];
    };
    const apart = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
    const close = (p, q) => apart(onScreen(p), onScreen(q)) < near;
    const degrees = (list) =>
      list.map((corner) =>
        on
          .plane()
          .from(...corner)
          .map(odanon.shapes.onStep),
      );
    const box = ([ax, ay], [bx, by]) => [
      [ax, ay],
      [bx, ay],
      [bx, by],
      [ax, by],
    ];
    const end = () => {
      kind = null;
      [corners, cursor, cross, held] = [[], null, null, -1];
      map.use(null);
      on.ended();
    };
    const finish = () => {
      if (kind === "zone") {
        end();
        return;
      }
      const found = degrees(kind === "rectangle" && corners.length === 1 && cursor ? box(corners[0], cursor) : corners);
      const wrong = odanon.shapes.wrong(found);
      if (wrong) {
        on.said(wrong);
        return;
      }
      const tell = kind === "edit" ? on.edited : on.drawn;
      end();
      tell(found);
    };
    const corner = (place) => {
      if (kind === "rectangle" && corners.length) {
        cursor = place;
        finish();
      } else if (corners.length > 2 && (close(place, corners[0]) || close(place, corners.at(-1)))) finish();
      else if (!corners.length || !close(place, corners.at(-1))) {
        corners.push(place);
        on.said(
          `Corner ${corners.length} set. ${corners.length > 2 ? "Press the first corner, or Finish, to close." : ""}`,
        );
      }
      map.redraw();
    };
    const middles = () =>
      corners.map(([x, y], i) => {
        const [bx, by] = corners[(i + 1) % corners.length];
        return [(x + bx) / 2, (y + by) / 2];
      });

    // --- keys ---
    const crossAt = () => {
      const { left, top } = map.canvas.getBoundingClientRect();
      return { clientX: left + cross[0], clientY: top + cross[1] };
    };
    const step = (dx, dy) => {
      const view = map.view();
      if (kind === "edit") {
        if (held < 0) held = 0;
        corners[held] = [corners[held][0] + dx / view.scale, corners[held][1] + dy / view.scale];
        return;
      }
      cross = [cross[0] + dx, cross[1] + dy];
      const inside = [
        Math.max(20, Math.min(view.size.width - 20, cross[0])),
        Math.max(20, Math.min(view.size.height - 20, cross[1])),
      ];
      if (inside[0] !== cross[0] || inside[1] !== cross[1])
        map.look({ scale: view.scale, x: view.x + inside[0] - cross[0], y: view.y + inside[1] - cross[1] });
      cross = inside;
      cursor = map.place(crossAt());
      if (kind === "zone") on.hover(crossAt());
    };
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const other = (by) => {
      held = (held + by + corners.length) % corners.length;
      on.said(`Corner ${held + 1} of ${corners.length}.`);
    };
    const acts = {
      Escape: end,
      Enter: () => {
        if (kind === "edit") finish();
        else if (kind === "zone") on.take(crossAt());
        else corner(map.place(crossAt()));
      },
      Backspace: () => {
        if (kind === "edit") acts.Delete();
        else if (corners.pop()) on.said(`${corners.length} corners left.`);
      },
      Delete: () => {
        if (kind === "edit" && held >= 0 && corners.length > 3) {
          corners.splice(held, 1);
          held %= corners.length;
        }
      },
    };
    const letters = { n: () => other(1), p: () => other(held < 0 ? 0 : -1) };
    const key = (event) => {
      const view = map.view();
      if (!cross) cross = [view.size.width / 2, view.size.height / 2];
      const act = acts[event.key] || (kind === "edit" && letters[event.key.toLowerCase()]);
      if (arrows[event.key]) step(...arrows[event.key].map((d) => d * (event.shiftKey ? 2 : 16)));
      else if (act) act();
      else return false;
      map.redraw();
      return true;
    };

    // --- pointer ---
    const press = (event) => {
      const place = map.place(event);
      if (kind === "rectangle") {
        if (!corners.length) corners = [place];
        cursor = place;
        return true;
      }
      if (kind !== "edit") return false;
      held = corners.findIndex((found) => close(found, place));
      if (held < 0) {
        const added = middles().findIndex((found) => close(found, place));
        if (added < 0) return false;
        held = added + 1;
        corners.splice(held, 0, place);
      }
      return true;
    };
    const drag = (event) => {
      cursor = map.place(event);
      if (kind === "edit") corners[held] = cursor;
      map.redraw();
    };
    const tool = {
      press,
      drag,
      key,
      lift: (event) => {
        if (kind === "rectangle" && !close(map.place(event), corners[0])) corner(map.place(event));
        map.redraw();
      },
      click: (event) => {
        if (kind === "polygon") corner(map.place(event));
        else if (kind === "zone") on.take(event);
      },
      move: (event) => {
        cursor = map.place(event);
        cross = null;
        if (kind === "zone") on.hover(event);
        map.redraw();
      },
    };

    // --- picture ---
    const paint = (pen) => {
      if (!kind) return;
      const mark = odanon.css("--mark");
      const paper = odanon.css("--paper");
      const line = kind === "rectangle" && corners.length && cursor ? box(corners[0], cursor) : [...corners];
      if (kind === "polygon" && cursor && corners.length) line.push(cursor);
      const points = line.map(onScreen);
      pen.lineJoin = "round";
      if (points.length > 1) {
        pen.beginPath();
        points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
        if (kind !== "polygon") pen.closePath();
        for (const [colour, width] of [
          [paper, 4.5],
          [mark, 2],
        ]) {
          pen.strokeStyle = colour;
          pen.lineWidth = width;
          pen.stroke();
        }
      }
      const dot = (place, radius, filled) => {
        const [x, y] = onScreen(place);
        pen.beginPath();
        pen.arc(x, y, radius, 0, 2 * Math.PI);
        pen.fillStyle = filled ? mark : paper;
        pen.strokeStyle = mark;
        pen.lineWidth = 2;
        pen.fill();
        pen.stroke();
      };
      if (kind === "edit") middles().forEach((place) => dot(place, 3, false));
      if (kind !== "rectangle")
        corners.forEach((place, i) => dot(place, i === held ? 7 : 5, i === held || (kind === "polygon" && !i)));
      if (cross && kind !== "edit") {
        pen.beginPath();
        for (const [dx, dy] of [
          [14, 0],
          [0, 14],
        ]) {
          pen.moveTo(cross[0] - dx, cross[1] - dy);
          pen.lineTo(cross[0] + dx, cross[1] + dy);
        }
        pen.strokeStyle = paper;
        pen.lineWidth = 4;
        pen.stroke();
        pen.strokeStyle = mark;
        pen.lineWidth = 1.6;
        pen.stroke();
      }
    };

    return {
      paint,
      finish,
      end,
      kind: () => kind,
      begin: (name, given) => {
        if (kind) end();
        kind = name;
        corners = (given || []).map((found) => on.plane().to(...found));
        held = given ? 0 : -1;
        map.use(tool);
        map.canvas.focus({ preventScroll: true });
        on.said(hints[name]);
      },
    };
  };
})();
