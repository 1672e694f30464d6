"use strict";
// The picture of areas and flow lines, made in steps so that a map with many of them never waits for it.
(() => {
  const stepSize = 50; // zones or lines between two looks at the clock
  const few = 400; // lines that are drawn one by one, each from pale to full

  const outline = (rings, apart) => {
    const path = new Path2D();
    for (const ring of rings) {
      let [x, y] = [ring[0], ring[1]];
      path.moveTo(x, y);
      for (let i = 2; i < ring.length; i += 2) {
        if (Math.abs(ring[i] - x) + Math.abs(ring[i + 1] - y) < apart) continue;
        [x, y] = [ring[i], ring[i + 1]];
        path.lineTo(x, y);
      }
      path.closePath();
    }
    return path;
  };

  // Stripes, for what is known coarsely only.
  odanon.stripes = (paint, colour, px) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour;
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (const at of [-8, 0, 8]) {
      pen.moveTo(at, 8);
      pen.lineTo(at + 8, 0);
    }
    pen.stroke();
    const pattern = paint.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix([px, 0, 0, px, 0, 0]));
    return pattern;
  };

  // drawn: zones with an outline, those that lie on top last.
  odanon.scene = (drawn, box) => {
    const grid = odanon.grid(drawn, box);
    const fine = new Map();
    const coarse = new Map();
    const pathOf = (zone, small) => {
      const kept = small ? coarse : fine;
      if (!kept.has(zone.index)) {
        const extent = Math.max(zone.box[2] - zone.box[0], zone.box[3] - zone.box[1]);
        kept.set(zone.index, outline(zone.rings, small ? extent / 6 : 0));
      }
      return kept.get(zone.index);
    };

    function* areas(paint, view, size, shown) {
      const px = 1 / view.scale;
      const land = odanon.css("--land");
      const line = odanon.css("--map-line");
      const stripes = odanon.stripes(paint, odanon.css("--map-stripe"), px);
      const [left, top] = [-view.x * px, -view.y * px];
      const seen = grid.within([left, top, left + size.width * px, top + size.height * px]);
      paint.lineJoin = "round";
      // Areas without a number lie below all others: a larger area that has one shows through the smaller ones inside it.
      const bare = seen.filter((zone) => !shown.fills.has(zone.index));
      const told = seen.filter((zone) => shown.fills.has(zone.index));
      const ordered = [...bare, ...told];
      for (let i = 0; i < ordered.length; i++) {
        if (i % stepSize === stepSize - 1) yield;
        const zone = ordered[i];
        const colour = shown.fills.get(zone.index);
        const [width, height] = [zone.box[2] - zone.box[0], zone.box[3] - zone.box[1]];
        const large = Math.max(width, height) * view.scale;
        paint.fillStyle = colour || land;
        if (large < 2) {
          paint.fillRect(zone.box[0], zone.box[1], Math.max(px, width), Math.max(px, height));
          continue;
        }
        const path = pathOf(zone, large < 14);
        paint.fill(path, "evenodd");
        if (colour && shown.hatched && shown.hatched.has(zone.index)) {
          paint.fillStyle = stripes;
          paint.fill(path, "evenodd");
        }
        if (large < 6 && colour) continue;
        paint.strokeStyle = colour ? line : land;
        paint.lineWidth = (colour ? 0.7 : 1) * px;
        paint.stroke(path);
      }
    }

    const bend = 0.16;
    const curve = (pen, [ax, ay, bx, by]) => {
      pen.moveTo(ax, ay);
      pen.quadraticCurveTo((ax + bx) / 2 - (by - ay) * bend, (ay + by) / 2 + (bx - ax) * bend, bx, by);
    };
    const circle = (pen, x, y, radius) => {
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
    };
    // A line grows from pale at the origin to full at the destination; a dot ends it; a ring is a flow within one area.
    const single = (paint, ends, width, colours) => {
      const [ax, ay, bx, by] = ends;
      paint.globalAlpha = 0.9;
      paint.strokeStyle = colours.ink;
      paint.lineWidth = width;
      if (ax === bx && ay === by) {
        circle(paint, ax, ay, 5 + width);
        paint.stroke();
        return;
      }
      paint.beginPath();
      curve(paint, ends);
      paint.globalAlpha = 0.35;
      paint.strokeStyle = colours.halo;
      paint.lineWidth = width + 1.4;
      paint.stroke();
      const shade = paint.createLinearGradient(ax, ay, bx, by);
      shade.addColorStop(0, colours.pale);
      shade.addColorStop(1, colours.ink);
      paint.globalAlpha = 0.9;
      paint.strokeStyle = shade;
      paint.lineWidth = width;
      paint.stroke();
      paint.fillStyle = colours.ink;
      circle(paint, bx, by, 1 + width / 2);
      paint.fill();
    };
    const widthOf = (trips, largest) => 0.7 + 3.6 * Math.sqrt(trips / largest);
    function* lines(paint, view, size, shown, zones) {
      const colours = { ink: odanon.css("--flow"), pale: odanon.css("--flow-pale"), halo: odanon.css("--paper") };
      const largest = shown.lines.reduce((most, line) => Math.max(most, line.trips), 1);
      const at = (zone) => [zones[zone].x * view.scale + view.x, zones[zone].y * view.scale + view.y];
      const seen = [];
      for (const line of shown.lines) {
        if (zones[line.from].x === null || zones[line.to].x === null) continue;
        const ends = [...at(line.from), ...at(line.to)];
        const outside = (a, b, end) => Math.max(a, b) < -end / 4 || Math.min(a, b) > 1.25 * end;
        if (outside(ends[0], ends[2], size.width) || outside(ends[1], ends[3], size.height)) continue;
        seen.push({ ends, trips: line.trips });
      }
      seen.sort((a, b) => a.trips - b.trips);
      paint.lineCap = "round";
      if (seen.length <= few) {
        for (let i = 0; i < seen.length; i++) {
          if (i % 5 === 4) yield;
          single(paint, seen[i].ends, widthOf(seen[i].trips, largest), colours);
        }
      } else {
        paint.strokeStyle = colours.ink;
        for (let i = 0; i < seen.length; i += 25) {
          const part = seen.slice(i, i + 25); // of nearly the same width: one stroke for all
          const share = widthOf(part.at(-1).trips, largest);
          paint.globalAlpha = Math.min(0.75, 0.06 + 0.25 * (share - 0.7));
          paint.lineWidth = share;
          paint.beginPath();
          part.forEach((line) => curve(paint, line.ends));
          paint.stroke();
          yield;
        }
      }
      paint.globalAlpha = 1;
    }

    return {
      outline: (zone) => pathOf(zone, false),
      at: (x, y) => grid.at(x, y).filter((zone) => odanon.inside(zone, x, y)),
      // All steps of one picture of size {width, height} in pixels of the page; zones are all, as lines name them.
      steps: function* (paint, ratio, view, size, shown, zones) {
        paint.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
        yield* areas(paint, view, size, shown);
        paint.setTransform(ratio, 0, 0, ratio, 0, 0);
        yield* lines(paint, view, size, shown, zones);
      },
    };
  };
})();
