"use strict";
// Lines and points as SVG: how one figure changes with another, one colour per series.
(() => {
  const { el, svg } = odanon;
  const margin = { top: 12, right: 16, bottom: 38, left: 52 };
  const hues = ["#20618a", "#d3561c", "#2e8b57", "#8a4fbf", "#b8860b", "#c2185b", "#00a0b0", "#6d4c41"];
  const marks = {
    circle: (x, y) => svg("circle", { cx: x, cy: y, r: 4.6 }),
    square: (x, y) => svg("rect", { x: x - 4.2, y: y - 4.2, width: 8.4, height: 8.4 }),
    triangle: (x, y) => svg("path", { d: `M${x},${y - 5.6}L${x + 5.4},${y + 4.2}L${x - 5.4},${y + 4.2}Z` }),
    diamond: (x, y) => svg("path", { d: `M${x},${y - 6}L${x + 5.4},${y}L${x},${y + 6}L${x - 5.4},${y}Z` }),
  };
  const shapes = Object.keys(marks);
  // Colour and shape of a series: eight colours, then the same ones with another shape.
  odanon.look = (i) => ({ colour: hues[i % hues.length], shape: shapes[Math.floor(i / hues.length) % shapes.length] });
  const mark = (series, x, y, size = 1) => {
    const node = marks[series.shape](0, 0);
    node.setAttribute("transform", `translate(${x} ${y}) scale(${size})`);
    for (const [name, value] of Object.entries({ fill: series.colour, stroke: "var(--paper)", "stroke-width": 1.2 }))
      node.setAttribute(name, value);
    return node;
  };
  // One key for several plots; pointing at a name dims the other series.
  odanon.key = (list) =>
    el(
      "ul",
      { class: "key wrap" },
      ...list.map((s) =>
        el(
          "li",
          {
            tabindex: 0,
            pointerenter: () => single(s.name),
            pointerleave: () => single(null),
            focusin: () => single(s.name),
            focusout: () => single(null),
          },
          svg("svg", { width: 14, height: 14, viewBox: "0 0 14 14" }, mark(s, 7, 7)),
          s.name,
        ),
      ),
    );
  const single = (name) =>
    document
      .querySelectorAll("[data-series]")
      .forEach((node) => node.classList.toggle("faint", name !== null && node.dataset.series !== name));

  const ticks = (low, high, parts) => {
    const step = odanon.niceStep(high - low || 1, parts);
    const list = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) list.push(value);
    return list;
  };
  // On a logarithmic axis: 1, 2 and 5 times powers of ten inside the range.
  const logTicks = (low, high) => {
    const list = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      for (const m of [1, 2, 5]) if (m * power >= low / 1.0001 && m * power <= high * 1.0001) list.push(m * power);
    }
    return list.length > 1 ? list : [low, high];
  };

  const decades = (low, high) => {
    const all = logTicks(low, high);
    const tens = all.filter((value) => Number.isInteger(Math.round(1e6 * Math.log10(value)) / 1e6));
    return all.length <= 6 || tens.length < 2 ? all : tens;
  };

  const draw = (host, spec) => {
    const width = Math.max(260, host.clientWidth);
    const height = 320;
    const points = spec.series.flatMap((s) => s.points);
    const range = (axis) => [Math.min(...points.map((p) => p[axis])), Math.max(...points.map((p) => p[axis]))];
    const [x0, x1] = range(0);
    const [y0, y1] = range(1);
    const along = spec.logX ? Math.log10 : (v) => v;
    const pad = (along(x1) - along(x0) || 1) * 0.06;
    const x = (v) =>
      margin.left +
      ((along(v) - along(x0) + pad) / (along(x1) - along(x0) + 2 * pad)) * (width - margin.left - margin.right);
    const [low, high] = spec.linearY ? [0, y1 * 1.05 || 1] : [y0 / 1.15, y1 * 1.15];
    const up = (v) => (spec.linearY ? v / high : Math.log(v / low) / Math.log(high / low));
    const y = (v) => margin.top + (1 - up(v)) * (height - margin.top - margin.bottom);
    const words = spec.words
      ? [spec.words]
      : spec.series.map(
          (s) => `${s.name}: ${s.points.map((p) => `${spec.formatX(p[0])} → ${spec.formatY(p[1])}`).join(", ")}`,
        );
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": `${spec.name}. ${words.join("; ")}`,
    });
    const rows = spec.linearY ? ticks(low, high, 5) : logTicks(low, high);
    const namesY = odanon.tickLabels(rows, spec.formatY);
    rows.forEach((value, i) =>
      picture.append(
        svg("line", { x1: margin.left, x2: width - margin.right, y1: y(value), y2: y(value), class: "grid" }),
        svg("text", { x: margin.left - 6, y: y(value) + 4, class: "end" }, namesY[i]),
      ),
    );
    const every = Math.ceil((50 * (spec.ticksX || []).length) / (width - margin.left - margin.right));
    const beside = spec.ticksX && spec.ticksX.filter((value, i) => i % every === 0 && x(value) >= margin.left);
    const columns = beside || (spec.logX ? decades(x0, x1) : ticks(x0, x1, 5));
    const namesX = odanon.tickLabels(columns, spec.formatX);
    columns.forEach((value, i) =>
      picture.append(svg("text", { x: x(value), y: height - margin.bottom + 18, class: "middle" }, namesX[i])),
    );
    picture.append(
      svg("line", {
        x1: margin.left,
        x2: width - margin.right,
        y1: height - margin.bottom,
        y2: height - margin.bottom,
        class: "axis",
      }),
      svg("text", { x: (margin.left + width - margin.right) / 2, y: height - 4, class: "middle title" }, spec.x),
    );
    if (spec.diagonal) {
      const ends = [Math.max(x0, low), Math.min(x1, high)];
      if (ends[0] < ends[1])
        picture.append(
          svg("line", {
            x1: x(ends[0]),
            x2: x(ends[1]),
            y1: y(ends[0]),
            y2: y(ends[1]),
            class: "axis",
            "stroke-dasharray": "5 4",
          }),
        );
    }
    for (const series of spec.series) {
      const path = [...series.points].sort((a, b) => a[0] - b[0]);
      if (spec.joined && path.length > 1) {
        picture.append(
          svg("polyline", {
            points: path.map((p) => `${x(p[0])},${y(p[1])}`).join(" "),
            fill: "none",
            stroke: series.colour,
            "stroke-width": 1.8,
            "data-series": series.name,
          }),
        );
      }
      path.forEach((p) => {
        const dot = mark(series, x(p[0]), y(p[1]), p[4] || spec.dot);
        dot.dataset.series = series.name;
        dot.addEventListener("pointermove", (event) =>
          odanon.tip.show(
            [series.name, `${spec.x}: ${spec.formatX(p[0])}`, `${spec.y}: ${spec.formatY(p[1])}`, ...(p[2] || [])],
            event.clientX,
            event.clientY,
          ),
        );
        dot.addEventListener("pointerleave", odanon.tip.hide);
        picture.append(dot);
        if (p[3]) picture.append(svg("circle", { cx: x(p[0]), cy: y(p[1]), r: 10, class: p[3] }));
      });
    }
    host.replaceChildren(picture);
  };

  // spec: name, x, y (axis titles; y is logarithmic), series [{name, colour, shape, points: [[x, y, extra lines, class of a ring, size of its
  // dot]]}], formatX, formatY; optional joined, logX, linearY (from 0 on), ticksX, diagonal (a line where both axes are alike), dot (size of
  // all dots), words (in place of all points, for those who cannot see them).
  odanon.lines = (host, spec) => {
    let width = 0;
    const fit = () => {
      if (host.clientWidth === width) return;
      width = host.clientWidth;
      draw(host, spec);
    };
    fit();
    new ResizeObserver(() => requestAnimationFrame(fit)).observe(host);
  };
})();
