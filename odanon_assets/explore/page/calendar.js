"use strict";
// A calendar of what is published: months of days, each published, withdrawn or nothing; days, windows and months can be chosen.
(() => {
  const { el, count } = odanon;
  const long = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeZone: "UTC" });
  const monthName = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
  const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
  const date = (day) => new Date(`${day}T00:00Z`);

  // Days are texts such as 2026-03-02, compared as texts.
  const days = {
    after: (day, n = 1) => new Date(date(day).getTime() + n * 864e5).toISOString().slice(0, 10),
    between: (since, until) => Math.round((date(until) - date(since)) / 864e5),
    weekday: (day) => (date(day).getUTCDay() + 6) % 7,
    nextMonth: (month) => {
      const [year, number] = month.split("-").map(Number);
      return number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, "0")}`;
    },
    inWords: (day) => short.format(date(day)),
    month: (month) => monthName.format(date(`${month}-01`)),
  };
  odanon.days = days;
  const words = { published: "published", withdrawn: "withdrawn", purged: "withdrawn", nothing: "nothing published" };

  // act: {day(window, wider), month(month)}. show(windows, covers) with covers(day) -> "", "a", "b" or "ab".
  odanon.calendar = (host, act) => {
    let byDay = new Map();
    let focus = null;
    const cells = new Map();

    const windowsByDay = (windows) => {
      const found = new Map();
      for (const window of windows) {
        for (let day = window.start; day < window.end; day = days.after(day)) found.set(day, window);
      }
      return found;
    };
    const cell = (day, covers) => {
      const window = byDay.get(day);
      const lacks = window && window.missing.includes(day);
      const status = window && !lacks ? (window.status === "purged" ? "withdrawn" : window.status) : "nothing";
      const length =
        window && window.length !== "day" ? `, ${lacks ? "missing in" : "part of"} a ${window.length}` : "";
      const trips = window && window.trips ? `, ${count(Math.round(window.trips), "trip", "trips")} in all` : "";
      const chosen = covers(day);
      const button = el(
        "button",
        {
          type: "button",
          class: `day ${status}${chosen ? " chosen" : ""} ${[...chosen].map((mark) => `in-${mark}`).join(" ")}`,
          tabindex: -1,
          "data-day": day,
          "aria-label": `${long.format(date(day))}: ${words[status]}${length}${trips}`,
          "aria-pressed": String(Boolean(chosen)),
          "aria-disabled": status === "published" ? null : "true",
          title: `${words[status]}${length}${trips}`,
          click: (event) => {
            focus = day;
            if (status === "published") act.day(window, event.shiftKey);
          },
        },
        String(Number(day.slice(8))),
      );
      cells.set(day, button);
      return button;
    };
    const month = (name, covers) => {
      const grid = el("div", { class: "days", role: "group", "aria-label": days.month(name) });
      const first = `${name}-01`;
      for (let i = 0; i < days.weekday(first); i++) grid.append(el("span", {}));
      for (let day = first; day.startsWith(name); day = days.after(day)) grid.append(cell(day, covers));
      const any = [...byDay].some(([day, window]) => day.startsWith(name) && window.status === "published");
      const whole = el(
        "button",
        { type: "button", class: "month-name", title: "The whole month", click: () => act.month(name) },
        days.month(name),
      );
      whole.disabled = !any;
      return el("div", { class: "month", "data-month": name }, whole, grid);
    };
    host.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
      const day = event.target.dataset && event.target.dataset.day;
      if (!step || !day) return;
      event.preventDefault();
      const next = cells.get(days.after(day, step));
      if (!next) return;
      cells.get(day).tabIndex = -1;
      next.tabIndex = 0;
      focus = next.dataset.day;
      next.focus();
    });

    let lastShown = null;
    return {
      show: (windows, covers, at) => {
        byDay = windowsByDay(windows);
        cells.clear();
        const hadFocus = host.contains(document.activeElement);
        const scrolled = host.scrollTop;
        const names = [];
        if (windows.length) {
          const last = [...byDay.keys()].reduce((a, b) => (a > b ? a : b));
          for (let name = windows[0].start.slice(0, 7); name <= last.slice(0, 7); name = days.nextMonth(name))
            names.push(name);
        }
        host.replaceChildren(
          el("div", { class: "weekdays", "aria-hidden": "true" }, ..."MTWTFSS".split("").map((d) => el("span", {}, d))),
          ...names.map((name) => month(name, covers)),
        );
        const reached = cells.get(focus) || cells.get(at) || cells.values().next().value;
        if (!reached) return;
        reached.tabIndex = 0;
        host.scrollTop = scrolled;
        if (hadFocus && cells.has(focus)) reached.focus({ preventScroll: true });
        else if (at !== lastShown)
          host.scrollTop = Math.max(0, reached.closest(".month").offsetTop - host.offsetTop - 22);
        lastShown = at;
      },
    };
  };
})();
