"use strict";
// Trips between own areas with bounds, of one period or of two compared: a square of cells, or a list where areas are many.
(() => {
  const { byId, el, state, known, when, count } = odanon;
  const square = 8; // areas that fit into a square
  const nothing = { low: 0, estimate: 0, high: 0, exact: 1 };
  let shown = null; // {names, cell(i, j) -> {first, second, difference}, perDay}

  const ask = async (period, name) => {
    // Areas go by their number: two may have one name.
    const areas = odanon.shapes.collection(state.areas.map((area, i) => ({ ...area, name: String(i + 1) })));
    const body = odanon.json({ areas, when: when.question(period), reading: state.reading });
    const told = await odanon.ask(name, `api/products/${encodeURIComponent(state.product)}/matrix`, body);
    const cells = new Map(told.cells.map((cell) => [`${cell.origin}>${cell.destination}`, cell]));
    return { note: told.note, cell: (i, j) => cells.get(`${i + 1}>${j + 1}`) || nothing };
  };
  const scaled = (cell, by) => ({ ...cell, low: cell.low * by, estimate: cell.estimate * by, high: cell.high * by });

  // Periods of different lengths are compared by the day, where their days can be counted.
  const perDay = () => {
    if (!state.b) return null;
    const [first, second] = [when.dayCount(state.a), when.dayCount(state.b)];
    return first && second && first !== second ? [1 / first, 1 / second] : null;
  };
  const gather = async () => {
    const [first, second] = await Promise.all([ask(state.a, "matrix"), state.b ? ask(state.b, "matrix-second") : null]);
    const by = perDay();
    const cell = (i, j) => {
      const one = by ? scaled(first.cell(i, j), by[0]) : first.cell(i, j);
      if (!second) return { first: one };
      const two = by ? scaled(second.cell(i, j), by[1]) : second.cell(i, j);
      return { first: one, second: two, difference: known.difference(one, two) };
    };
    return { cell, by, note: first.note || (second && second.note) };
  };

  const from = (i, j) => `From ${state.areas[i].name} to ${state.areas[j].name}: `;
  const choose = (i, j) => odanon.choose({ pair: [i, j] });
  const single = (cell, most) => [
    el("strong", {}, cell.high ? known.estimate(cell) : "–"),
    el("small", {}, cell.high ? known.range(cell) : "nothing published"),
    known.bar(cell, most),
  ];
  const double = ({ first, second, difference }) => {
    const change = known.change(difference);
    if (!first.high && !second.high) return [el("strong", {}, "–"), el("small", {}, "nothing published")];
    return [
      el("strong", {}, change.estimate),
      el("small", {}, change.range),
      el("small", {}, `${known.estimate(first)} → ${known.estimate(second)}`),
      change.verdict
        ? el("em", { class: change.verdict.includes("sure") ? "sure-change" : "no-change" }, change.verdict)
        : "",
    ];
  };
  const inWords = ({ first, second, difference }) => {
    if (!second) return known.sentence(first);
    const change = known.change(difference);
    return `${change.estimate} trips, ${change.range}${change.verdict ? `, ${change.verdict}` : ""}; first ${known.sentence(first)}; second ${known.sentence(second)}`;
  };
  const look = (cell) => {
    if (!cell.second) return known.level(cell.first);
    return known.change(cell.difference).verdict === "within the bounds" ? "vague" : known.level(cell.difference);
  };

  const cellButton = (i, j, most) => {
    const cell = shown.cell(i, j);
    const lines = () => [
      `${state.areas[i].name} → ${state.areas[j].name}`,
      ...(cell.second
        ? [`first: ${known.sentence(cell.first)}`, `second: ${known.sentence(cell.second)}`]
        : [known.sentence(cell.first)]),
    ];
    return el(
      "button",
      {
        type: "button",
        class: `cell ${look(cell)}`,
        "aria-pressed": String(Boolean(state.pair) && state.pair[0] === i && state.pair[1] === j),
        "aria-label": from(i, j) + inWords(cell),
        "data-pair": `${i},${j}`,
        click: () => choose(i, j),
        pointermove: (event) => odanon.tip.show(lines(), event.clientX, event.clientY),
        pointerleave: odanon.tip.hide,
      },
      ...(cell.second ? double(cell) : single(cell.first, most)),
    );
  };
  const grid = (most) => {
    const places = state.areas.map((_, i) => i);
    const head = (i, scope) =>
      el("th", { scope }, el("span", { class: "number" }, String(i + 1)), " ", el("bdi", {}, state.areas[i].name));
    return el(
      "div",
      { class: "square", tabindex: 0, role: "group", "aria-label": "Trips between my areas" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, el("td", {}, "from \\ to"), ...places.map((j) => head(j, "col")))),
        el(
          "tbody",
          {},
          ...places.map((i) =>
            el("tr", {}, head(i, "row"), ...places.map((j) => el("td", {}, cellButton(i, j, most)))),
          ),
        ),
      ),
    );
  };
  let list = null;
  const showList = (most) => {
    const rows = [];
    state.areas.forEach((_, i) =>
      state.areas.forEach((__, j) => rows.push({ i, j, rank: rows.length, ...shown.cell(i, j) })),
    );
    const host = el("div", { class: "table long" });
    byId("matrix").replaceChildren(host);
    list = odanon.table(host);
    const name = (title, key) => ({
      name: title,
      text: true,
      value: (row) => state.areas[row[key]].name,
      show: (row) => state.areas[row[key]].name,
      title: (row) => state.areas[row[key]].name,
    });
    const number = (title, cellOf, main) => ({
      name: title,
      main,
      value: (row) => cellOf(row).estimate,
      show: (row) => known.estimate(cellOf(row)),
    });
    const columns = [name("Origin", "i"), name("Destination", "j")];
    if (rows[0].second) {
      columns.push(
        number("First", (row) => row.first),
        number("Second", (row) => row.second),
      );
      const told = (row) => known.change(row.difference);
      columns.push({
        name: "Difference",
        main: true,
        value: (row) => row.difference.estimate,
        show: (row) => told(row).estimate,
      });
      columns.push({
        name: "Bounds",
        value: (row) => row.difference.high - row.difference.low,
        show: (row) => told(row).range,
      });
      columns.push({ name: "Says", text: true, value: (row) => told(row).verdict, show: (row) => told(row).verdict });
    } else {
      columns.push(number("Trips", (row) => row.first, true));
      columns.push({
        name: "Bounds",
        value: (row) => row.first.high - row.first.low,
        show: (row) => known.range(row.first),
      });
      columns.push({ name: "Known", value: (row) => row.first.low, show: (row) => known.bar(row.first, most) });
    }
    list.show(columns, rows, { hover: () => {}, pick: (row) => choose(row.i, row.j) });
  };

  const render = () => {
    if (!shown) return;
    const cells = state.areas.flatMap((_, i) => state.areas.map((__, j) => shown.cell(i, j).first));
    const most = Math.max(...cells.map((cell) => cell.high));
    if (state.areas.length <= square) byId("matrix").replaceChildren(grid(most));
    else showList(most);
  };
  const text = () => {
    const parts = [];
    if (!state.b) parts.push(`${when.inWords(state.a)}.`);
    else {
      parts.push(
        `Second period (${when.inWords(state.b)}) minus first (${when.inWords(state.a)})${shown.by ? ", as means per published day" : ""}.`,
      );
      const all = when.dayCount(state.a) === null && !shown.by;
      if (all) parts.push("Periods may hold different numbers of such days; these are totals.");
    }
    if (shown.note) parts.push(odanon.sentence(shown.note));
    else parts.push(`Choose a cell to see that flow over time.`);
    return parts.join(" ");
  };

  odanon.matrix = {
    shown: () => shown,
    mark: () => {
      document.querySelectorAll("#matrix [data-pair]").forEach((cell) => {
        cell.setAttribute("aria-pressed", String(Boolean(state.pair) && cell.dataset.pair === state.pair.join()));
      });
    },
    rename: render,
    show: () => {
      byId("between").hidden = !state.areas.length;
      if (!state.areas.length) {
        odanon.stopAsking("matrix");
        byId("matrix").removeAttribute("aria-busy");
        shown = null;
        return;
      }
      const words = `Counting between ${count(state.areas.length, "area", "areas")} …`;
      odanon.answer(byId("matrix"), byId("matrix-text"), words, gather, (found) => {
        shown = found;
        byId("matrix-text").textContent = text();
        render();
      });
    },
  };
})();
