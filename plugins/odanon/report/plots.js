"use strict";
// Bar charts as SVG, drawn to the width of their host and redrawn when it changes.
(() => {
  const { el, svg } = odanon;
  const margin = { top: 10, right: 14, bottom: 36, left: 46 };

  // The whole chart in words, for those who cannot see it.
  const inWords = (spec, s, i) =>
    `${s.name} ${spec.format(s.values[i])}${s.high ? ` (${spec.format(s.low[i])} to ${spec.format(s.high[i])})` : ""}`;
  const describe = (spec) =>
    `${spec.name}. ${spec.labels
      .map((label, i) => `${label}: ${spec.series.map((s) => inWords(spec, s, i)).join(", ")}`)
      .join("; ")}`;
  const stripes = (x, y, width, height) => {
    let path = "";
    for (let c = 4; c < width + height; c += 6)
      path += `M${x + Math.max(0, c - height)},${y + Math.min(c, height)}L${x + Math.min(c, width)},${y + Math.max(0, c - width)}`;
    return path;
  };
  // Between its bounds a bar is striped; a tick is the estimate.
  const bounds = (series, i, x, width, y) => {
    const top = y(series.high[i]);
    const height = Math.max(0, y(series.low[i]) - top);
    return [
      svg("rect", { x, y: top, width, height, class: `open ${series.class}` }),
      svg("path", { d: stripes(x, top, width, height), class: `stripes ${series.class}` }),
      svg("rect", { x: x - 1, y: y(series.values[i]) - 1.25, width: width + 2, height: 2.5, class: "tick" }),
    ];
  };

  const draw = (host, spec) => {
    const width = Math.max(200, host.clientWidth);
    const height = spec.height || 230;
    const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
    const highest = Math.max(...spec.series.flatMap((s) => s.high || s.values), 0) || 1;
    const step = odanon.niceStep(highest, spec.height ? 2 : 4);
    const top = Math.ceil(highest / step) * step;
    const y = (value) => margin.top + inner.height * (1 - value / top);
    const slots = spec.slots || spec.labels.length;
    const slot = inner.width / slots;
    const x = (i) => margin.left + slot * (spec.at ? spec.at[i] : i);
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": describe(spec),
    });

    const rows = [];
    for (let value = 0; value <= top + step / 2; value += step) rows.push(value);
    const names = odanon.tickLabels(rows, spec.format);
    rows.forEach((value, i) =>
      picture.append(
        svg("line", {
          x1: margin.left,
          x2: width - margin.right,
          y1: y(value),
          y2: y(value),
          class: value ? "grid" : "axis",
        }),
        svg("text", { x: margin.left - 6, y: y(value) + 4, class: "end" }, names[i]),
      ),
    );
    const long = (i) => slot * (spec.wide ? spec.wide[i] : 1);
    const gap = spec.wide
      ? Math.min(4, slot * 0.18)
      : Math.max(slot - 64 * spec.series.length, Math.min(10, slot * 0.18));
    const widest = Math.max(...spec.labels.map((label) => label.length)) * 6.4 + 8;
    const every = Math.ceil(widest / slot);
    let free = -Infinity; // where the next label of bars of different widths may stand
    let told = -Infinity; // where the last label ends, and a little further
    spec.labels.forEach((label, i) => {
      const group = svg("g", { class: spec.pick ? "pick" : null });
      const bar = (long(i) - gap) / spec.series.length;
      if (spec.chosen !== undefined && spec.chosen >= 0 && spec.chosen !== i) group.classList.add("dim");
      group.append(svg("rect", { x: x(i), y: margin.top, width: long(i), height: inner.height, class: "slot" }));
      spec.series.forEach((series, s) => {
        const value = (series.low || series.values)[i];
        const size = value > 0 ? Math.max(1, y(0) - y(value)) : 0;
        group.append(
          svg("rect", {
            x: x(i) + gap / 2 + s * bar,
            y: y(0) - size,
            height: size,
            rx: Math.min(2, bar / 4),
            class: series.class,
            width: Math.max(1, bar - 1),
          }),
        );
        if (series.high && series.high[i] > 0)
          group.append(...bounds(series, i, x(i) + gap / 2 + s * bar, Math.max(1, bar - 1), y));
      });
      if (spec.marked && spec.marked[i]) {
        group.append(svg("rect", { x: x(i) + gap / 2, y: y(0) - 4, width: bar - 1, height: 4, class: "fill-soft" }));
      }
      const say = (event) => odanon.tip.show(spec.tip(i), event.clientX, event.clientY);
      group.addEventListener("pointermove", say);
      group.addEventListener("pointerleave", odanon.tip.hide);
      if (spec.pick) group.addEventListener("click", () => spec.pick(i));
      picture.append(group);
      const place = spec.at ? spec.at[i] : i;
      const half = label.length * 3.2;
      const middle = Math.min(x(i) + slot / 2, width - half); // one at the edge stands further in
      const isFree = (spec.wide ? x(i) >= free : place % every === 0) && middle - half >= told;
      if (isFree) {
        [free, told] = [x(i) + widest, middle + half + 8];
        picture.append(svg("text", { x: middle, y: height - margin.bottom + 16, class: "middle" }, label));
      }
    });
    picture.append(svg("text", { x: margin.left + inner.width / 2, y: height - 4, class: "middle title" }, spec.x));
    host.replaceChildren(picture);
    if (spec.series.length > 1) {
      host.prepend(
        el("ul", { class: "key" }, ...spec.series.map((s) => el("li", {}, el("i", { class: s.class }), s.name))),
      );
    }
  };

  // spec: name, x, labels, series [{name, class, values}, where bounds are known with low and high], format, tip(i); optional height, pick(i), chosen,
  // at, slots and wide (positions and widths of the bars on a longer axis, in slots), marked (bars to hint at without a value).
  odanon.bars = (host) => {
    let spec = null;
    let width = 0;
    new ResizeObserver(() => {
      if (spec && host.clientWidth !== width) {
        width = host.clientWidth;
        draw(host, spec);
      }
    }).observe(host);
    return {
      margin,
      show: (next) => {
        spec = next;
        width = host.clientWidth;
        draw(host, spec);
      },
    };
  };
})();
