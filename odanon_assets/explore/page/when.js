"use strict";
// The time that is asked for: calendar, day type, hours, segment, and a second period to compare with.
(() => {
  const { byId, el, state, days, count } = odanon;
  const dayTypes = {
    working: "Working days",
    saturday: "Saturdays",
    sunday_holiday: "Sundays and holidays",
    monday: "Mondays",
    tuesday: "Tuesdays",
    wednesday: "Wednesdays",
    thursday: "Thursdays",
    friday: "Fridays",
    sunday: "Sundays",
  };
  let product = null;

  // First and last day of a period, the last exclusive.
  const span = (period) => {
    if (period.month) return [`${period.month}-01`, `${days.nextMonth(period.month)}-01`];
    if (period.since) return [period.since, period.until];
    const published = product.windows.filter((window) => window.status === "published");
    return published.length ? [published[0].start, published.at(-1).end] : ["", ""];
  };
  const label = (period) => {
    if (!period.month && !period.since) return "All that is published";
    if (period.month) return days.month(period.month);
    const last = days.after(period.until, -1);
    return period.since === last ? days.inWords(last) : `${days.inWords(period.since)} – ${days.inWords(last)}`;
  };
  // Days of published windows inside a period, of a weekday where one is asked for; null where holidays decide, which the page does not know.
  const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
  const dayCount = (period) => {
    if (state.days && !weekdays.includes(state.days)) return null;
    const [since, until] = span(period);
    let found = 0;
    for (const window of product.windows) {
      if (window.status !== "published") continue;
      for (
        let day = window.start > since ? window.start : since;
        day < window.end && day < until;
        day = days.after(day)
      )
        if (!window.missing.includes(day) && (!state.days || weekdays[days.weekday(day)] === state.days)) found++;
    }
    return found;
  };
  // What the server is asked, without what is not chosen.
  const question = (period) => {
    const asked = { ...period };
    for (const name of ["days", "clock", "segment"]) if (state[name]) asked[name] = state[name];
    return asked;
  };
  const inWords = (period) => {
    const parts = [label(period)];
    if (state.days) parts.push(dayTypes[state.days] || state.days);
    if (state.clock) parts.push(state.clock.replace("-", "–"));
    if (state.segment) parts.push(state.segment);
    return parts.join(", ");
  };
  // The period that the calendar sets and the map shows.
  const shown = () => (state.b && state.which === "b" ? state.b : state.a);
  odanon.when = { span, label, dayCount, question, inWords, shown };

  // --- controls ---
  const set = (period) => odanon.choose({ [state.b ? state.which : "a"]: period });
  const calendar = odanon.calendar(byId("calendar"), {
    day: (window, wider) => {
      const [since, until] = span(shown());
      if (!wider) set({ since: window.start, until: window.end });
      else set({ since: since < window.start ? since : window.start, until: until > window.end ? until : window.end });
    },
    month: (month) => set({ month }),
  });
  const hours = Array.from({ length: 25 }, (_, i) => `${String(i).padStart(2, "0")}:00`);
  const onClock = () => {
    const [from, to] = [byId("clock-from").value, byId("clock-to").value];
    const whole = (from === "00:00" && to === "24:00") || from === to;
    odanon.choose({ clock: whole ? null : `${from}-${to === "24:00" ? "24:00" : to}` });
  };
  byId("clock-from").append(...hours.slice(0, 24).map((hour) => el("option", {}, hour)));
  byId("clock-to").append(
    ...hours.slice(1).map((hour) => el("option", {}, hour)),
    el("option", { hidden: "" }, "00:00"),
  );
  byId("clock-from").addEventListener("change", onClock);
  byId("clock-to").addEventListener("change", onClock);
  byId("days").addEventListener("change", () => odanon.choose({ days: byId("days").value || null }));
  byId("segment").addEventListener("change", () => odanon.choose({ segment: byId("segment").value || null }));
  byId("everything").addEventListener("click", () => set({}));
  const onDates = () => {
    const [from, to] = [byId("from").value, byId("to").value];
    if (from && to) set(from <= to ? { since: from, until: days.after(to) } : { since: to, until: days.after(from) });
  };
  byId("from").addEventListener("change", onDates);
  byId("to").addEventListener("change", onDates);
  byId("compare").addEventListener("change", () =>
    odanon.choose(byId("compare").checked ? { b: before(), which: "b" } : { b: null, which: "a" }),
  );
  // The first guess of a second period: as long as the first and just before it; else the first again.
  const before = () => {
    const [since, until] = span(state.a);
    const earlier = days.after(since, -days.between(since, until));
    const any = product.windows.some((w) => w.status === "published" && w.start < since && w.end > earlier);
    return any ? { since: earlier, until: since } : { since, until };
  };
  document
    .querySelectorAll("[data-which]")
    .forEach((button) => button.addEventListener("click", () => odanon.choose({ which: button.dataset.which })));

  const options = (list, all) => [el("option", { value: "" }, all), ...list];
  odanon.when.load = (told) => {
    product = told;
    byId("days").replaceChildren(
      ...options(
        product.day_types.map((name) => el("option", { value: name }, dayTypes[name] || name)),
        "All days",
      ),
    );
    byId("segment").replaceChildren(
      ...options(
        product.segments.map((name) => el("option", { value: name }, name)),
        "All together",
      ),
    );
    byId("segment-choice").hidden = !product.segments.length;
    if (state.days && !product.day_types.includes(state.days)) state.days = null;
    if (state.segment && !product.segments.includes(state.segment)) state.segment = null;
    const last = product.windows.filter((window) => window.status === "published").at(-1);
    if (!state.a) state.a = last ? { since: last.start, until: last.end } : {};
  };
  odanon.when.show = () => {
    const [a, b] = [span(state.a), state.b ? span(state.b) : null];
    const covers = (day) => (day >= a[0] && day < a[1] ? "a" : "") + (b && day >= b[0] && day < b[1] ? "b" : "");
    const edited = shown();
    calendar.show(product.windows, covers, span(edited)[0]);
    byId("period").replaceChildren(
      ...(state.b
        ? [el("span", { class: "mark-a" }, label(state.a)), " and ", el("span", { class: "mark-b" }, label(state.b))]
        : [el("strong", {}, label(state.a))]),
    );
    const published = dayCount(edited);
    if (!state.b && published !== null) byId("period").append(` · ${count(published, "day", "days")} published`);
    const [since, until] = span(edited);
    byId("from").value = since;
    byId("to").value = until && days.after(until, -1);
    byId("days").value = state.days || "";
    byId("segment").value = state.segment || "";
    const [from, to] = (state.clock || "00:00-24:00").split("-");
    byId("clock-from").value = from;
    byId("clock-to").value = to;
    byId("compare").checked = Boolean(state.b);
    byId("which").hidden = !state.b;
    document
      .querySelectorAll("[data-which]")
      .forEach((button) => button.setAttribute("aria-pressed", button.dataset.which === state.which));
    const report = product.windows.find((w) => w.start === since && w.end === until && w.report);
    byId("report").hidden = !report;
    if (report) byId("report").href = report.report;
  };
})();
