"use strict";
// Numbers with bounds: rounded to what is known, and drawn so that what is uncertain looks uncertain.
(() => {
  const { el, number } = odanon;
  const plain = (value) => number(Math.abs(value) >= 100 ? Math.round(value) : Math.round(10 * value) / 10);

  // A number tells no more digits than its bounds leave meaning to: of 120 to 910, hundreds.
  const unitOf = ({ low, high }) => Math.max(0.1, 10 ** Math.floor(Math.log10(Math.max(high - low, 1e-9) / 5)));
  const isExact = ({ low, high }) => high - low <= 1e-6 * Math.max(1, Math.abs(high));
  const to = (value, unit, round) => Number((round(Number((value / unit).toFixed(6))) * unit).toFixed(1));

  odanon.known = {
    isExact,
    // The estimate in words: exact, about, or below what can be told.
    estimate: (cell) => {
      if (isExact(cell)) return plain(cell.estimate);
      const unit = unitOf(cell);
      const value = to(cell.estimate, unit, Math.round);
      return value === 0 && cell.estimate > 0 ? `under ${number(unit)}` : `≈ ${number(value)}`;
    },
    // Bounds are rounded outwards, so that they stay true.
    range: (cell) => {
      if (isExact(cell)) return "exact";
      const unit = unitOf(cell);
      return `${number(to(cell.low, unit, Math.floor))} – ${number(to(cell.high, unit, Math.ceil))}`;
    },
    level: (cell) => {
      if (isExact(cell)) return "exact";
      const wide = (cell.high - cell.low) / Math.max(Math.abs(cell.high), Math.abs(cell.low));
      return wide <= 0.3 ? "narrow" : wide <= 0.8 ? "wide" : "vague";
    },
    // One sentence for tips and for those who cannot see the bar.
    sentence: (cell) =>
      isExact(cell)
        ? `${plain(cell.estimate)} trips, exactly as published`
        : `${odanon.known.estimate(cell)} trips, between ${odanon.known.range(cell).replace(" – ", " and ")}`,
    // Solid as far as it is sure, striped as far as it may reach, a tick at the estimate; on one scale up to `most`.
    bar: (cell, most) => {
      const share = (value) => `${Math.max(0, Math.min(100, (100 * value) / (most || 1)))}%`;
      const [sure, maybe, tick] = [el("i", { class: "sure" }), el("i", { class: "striped maybe" }), el("b", {})];
      sure.style.width = share(cell.low);
      maybe.style.left = share(cell.low);
      maybe.style.width = share(cell.high - cell.low);
      tick.style.left = share(cell.estimate);
      return el("span", { class: "range", "aria-hidden": "true" }, sure, maybe, tick);
    },
    // Second minus first: at least and at most what the bounds of both leave open.
    difference: (first, second) => ({
      low: second.low - first.high,
      estimate: second.estimate - first.estimate,
      high: second.high - first.low,
    }),
    signed: (value) => (value > 0 ? `+${number(value)}` : number(value).replace("-", "−")),
    // What can be said of a difference: more, fewer, or nothing beyond the bounds.
    change: (cell) => {
      const { signed } = odanon.known;
      const unit = isExact(cell) ? (Math.abs(cell.estimate) >= 10 ? 1 : 0.1) : unitOf(cell);
      const told = {
        estimate: signed(to(cell.estimate, unit, Math.round)),
        range: `${signed(to(cell.low, unit, Math.floor))} to ${signed(to(cell.high, unit, Math.ceil))}`,
      };
      if (isExact(cell)) return { ...told, range: "exact", verdict: cell.estimate ? "" : "no difference" };
      const verdict = cell.low > 0 ? "more for sure" : cell.high < 0 ? "fewer for sure" : "within the bounds";
      return { ...told, estimate: `≈ ${told.estimate}`, verdict };
    },
  };
})();
