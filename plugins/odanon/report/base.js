"use strict";
// What every part of the page uses: making elements, formatting numbers, colour classes, one tooltip.
const odanon = {};
(() => {
  const svgSpace = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;

  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") node.addEventListener(name, value);
      else if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };
  odanon.el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  odanon.svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS(svgSpace, tag), attributes, children);
  odanon.byId = (id) => document.getElementById(id);
  odanon.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const whole = new Intl.NumberFormat("en");
  const compact = new Intl.NumberFormat("en", { notation: "compact" });
  const short = [0, 1, 2, 3].map((more) => new Intl.NumberFormat("en", { maximumSignificantDigits: 3 + more }));
  // Whole numbers, and all from 1,000 on, to their last whole digit: sums of parts are whole within rounding only. `more` digits are for ticks.
  odanon.number = (value, more = 0) =>
    Number.isInteger(value) || (!more && Math.abs(value) >= 1000)
      ? whole.format(Math.round(value))
      : short[more].format(value);
  odanon.axisNumber = (value, more = 0) => (value < 10000 || more ? odanon.number(value, more) : compact.format(value));
  odanon.percent = (share, more = 0) =>
    `${more ? (100 * share).toFixed(1 + more) : share && share < 0.0995 ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;
  // The labels of ticks, with as many more digits as tell them apart.
  odanon.tickLabels = (values, format) => {
    const labels = short.map((_, more) => values.map((value) => format(value, more)));
    return labels.find((list) => new Set(list).size === list.length) || labels.at(-1);
  };
  odanon.who = (data) => (data.release.parameters.unit === "vehicles" ? "vehicles" : "people");
  // Of a group of H3 cells: the digits that their parent does not use say nothing, and what follows them does.
  odanon.shortName = (id) => id.replace(/^(8[0-9a-f]{5,}?)f{3,}(?=\/)/, "$1…");
  // What people call a zone, or its id; and both.
  odanon.nameOf = (zone) => zone.name || odanon.shortName(zone.id);
  odanon.fullName = (zone) => (zone.name && zone.name !== zone.id ? `${zone.name} (${zone.id})` : zone.id);
  odanon.count = (n, one, many) => `${odanon.number(n)} ${odanon.number(n) === "1" ? one : many}`;

  // The start (1, 2 or 5 times a power of ten) of the step that fits `span` about `parts` times.
  odanon.niceStep = (span, parts) => {
    const rough = span / parts;
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * ([1, 2, 5].find((m) => m * power >= rough) || 10);
  };

  // Round class limits, evenly spaced to the eye of a logarithm; extremes beyond 2 % do not stretch them.
  odanon.breaks = (values) => {
    const sorted = Float64Array.from(values).sort();
    if (!sorted.length) return [];
    const low = sorted[Math.floor(0.02 * (sorted.length - 1))];
    const high = sorted[Math.ceil(0.98 * (sorted.length - 1))];
    for (const steps of [[1, 1.5, 2, 3, 5, 7], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
      const found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
        for (const step of steps) {
          const limit = Number((step * 10 ** power).toPrecision(2));
          if (limit > low && limit <= high) found.push(limit);
        }
      }
      if (found.length <= 6) return found;
    }
    return [];
  };
  odanon.ramp = (name) => [0, 1, 2, 3, 4, 5, 6].map((i) => odanon.css(`--${name}-${i}`));
  odanon.classes = (breaks, ramp) => {
    const last = ramp.length - 1;
    const colours = breaks.length
      ? Array.from({ length: breaks.length + 1 }, (_, i) => ramp[Math.round((i * last) / breaks.length)])
      : [ramp[Math.round(last / 2)]];
    return { breaks, colours, of: (value) => colours[breaks.filter((limit) => value >= limit).length] };
  };

  const tip = odanon.el("div", { class: "tip", "aria-hidden": "true", hidden: "" });
  document.body.append(tip);
  odanon.tip = {
    show: (lines, x, y) => {
      tip.replaceChildren(...lines.map((line, i) => odanon.el(i ? "span" : "strong", {}, line)));
      tip.hidden = false;
      const box = tip.getBoundingClientRect();
      const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
      const top = y + 14 + box.height > innerHeight ? y - 14 - box.height : y + 14;
      tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
    },
    hide: () => {
      tip.hidden = true;
    },
  };
})();
