"use strict";
// A table whose columns sort when their heading is pressed; rows may be chosen with pointer or keyboard.
(() => {
  const { el } = odanon;
  const longest = 200;

  // columns: [{name, value(row), show(row) -> text or node, text: bool}], the first with title(row); the last sort is kept per set of columns.
  odanon.table = (host) => {
    let sort = { column: null, down: true };
    const render = (columns, rows, act) => {
      const by = columns.find((c) => c.name === sort.column) || columns.find((c) => c.main);
      const sign = sort.down ? -1 : 1;
      const ordered = [...rows].sort((a, b) => {
        const [p, q] = [by.value(a), by.value(b)];
        return sign * (p < q ? -1 : p > q ? 1 : 0) || a.rank - b.rank;
      });
      const heads = columns.map((column) =>
        el(
          "th",
          {
            scope: "col",
            class: column.text ? null : "n",
            "aria-sort": column === by ? (sort.down ? "descending" : "ascending") : null,
          },
          el(
            "button",
            {
              type: "button",
              click: () => {
                sort = { column: column.name, down: column === by ? !sort.down : !column.text };
                render(columns, rows, act);
                host.querySelectorAll("th button")[columns.indexOf(column)].focus();
              },
            },
            column.name,
          ),
        ),
      );
      const lines = ordered.slice(0, longest).map((row) =>
        el(
          "tr",
          {
            pointerenter: () => act.hover(row),
            pointerleave: () => act.hover(null),
            focusin: () => act.hover(row),
            focusout: () => act.hover(null),
            click: () => act.pick(row),
          },
          ...columns.map((column, i) =>
            el(
              "td",
              { class: column.text ? "name" : "n" },
              i
                ? el("bdi", {}, column.show(row))
                : el("button", { type: "button", title: column.title(row) }, el("bdi", {}, column.show(row))),
            ),
          ),
        ),
      );
      host.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...lines)));
      if (rows.length > longest)
        host.append(el("p", { class: "more" }, `The first ${longest} of ${odanon.number(rows.length)}.`));
    };
    return { show: render };
  };
})();
