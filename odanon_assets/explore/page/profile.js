"use strict";
// One flow between two own areas over the day, over the week, or through the period, with its bounds; of one period or two.
(() => {
  const { byId, el, state, known, when, days } = odanon;
  let shown = null; // [{name, steps}], one or two

  const periods = () => (state.b ? [state.a, state.b] : [state.a]);
  // Two periods have steps of one length, by the longer one.
  const stepOf = () => {
    if (state.fold === "day") return { step: state.step, fold: "day" };
    if (state.fold === "week") return { step: "1d", fold: "week" };
    const long = Math.max(...periods().map((period) => days.between(...when.span(period))));
    return { step: long <= 2 ? state.step : long <= 120 ? "1d" : "7d", fold: null };
  };
  const ask = (period, name) => {
    const [origin, destination] = state.pair.map((i) => odanon.shapes.geometry(state.areas[i]));
    const asked = { origin, destination, when: when.question(period), reading: state.reading, ...stepOf() };
    return odanon.ask(name, `api/products/${encodeURIComponent(state.product)}/profile`, odanon.json(asked));
  };
  const gather = async () => {
    const asked = periods();
    const told = await Promise.all(asked.map((period, i) => ask(period, i ? "profile-second" : "profile")));
    return told.map((answer, i) => ({
      name: when.label(asked[i]),
      since: when.span(asked[i])[0],
      steps: answer.steps,
      note: answer.note,
    }));
  };

  // Where a step lies on the axis: at its time of the day or the week, or so long after its period began. Steps of which
  // nothing is published are not told, so their number says nothing.
  const weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
  const placeOf = (step, since) => {
    if (state.fold === "none") return Date.parse(`${step.start}Z`) - Date.parse(`${since}T00:00Z`);
    const [clock, weekday] = step.label.split(" ").reverse();
    return `${weekdays.indexOf(weekday)} ${clock}`;
  };
  // The places of all lists in order, each with the step of every list there, if it has one.
  const aligned = () => {
    const places = new Map();
    shown.forEach(({ steps, since }, list) => {
      for (const step of steps) {
        const place = placeOf(step, since);
        if (!places.has(place)) places.set(place, []);
        places.get(place)[list] = step;
      }
    });
    return [...places].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, steps]) => steps);
  };

  const plot = odanon.bars(byId("profile"));
  const axis = {
    day: "trips by time of the day, mean of a day",
    week: "trips by day of the week, mean of a week",
    none: "trips through the period",
  };
  const draw = () => {
    const places = aligned();
    const labels = places.map((steps) => steps.find(Boolean).label);
    const at = (list, key) => places.map((steps) => (steps[list] ? steps[list][key] : 0));
    const classes = ["fill-origin", "fill-destination"];
    plot.show({
      name: `Trips from ${state.areas[state.pair[0]].name} to ${state.areas[state.pair[1]].name}`,
      x: axis[state.fold],
      labels,
      format: odanon.axisNumber,
      series: shown.map((list, i) => ({
        name: list.name,
        class: classes[i],
        values: at(i, "estimate"),
        low: at(i, "low"),
        high: at(i, "high"),
      })),
      tip: (i) => [
        ...(shown.length > 1 && state.fold === "none" ? [] : [labels[i]]),
        ...shown.flatMap(({ name }, list) => {
          const step = places[i][list];
          if (!step) return [];
          const words = known.sentence(step);
          const spread = step.spread_over_hours;
          return [
            shown.length > 1 ? `${state.fold === "none" ? step.label : name}: ${words}` : words,
            ...(spread > 1 ? [`told for ${odanon.number(spread)} hours together`] : []),
          ];
        }),
      ],
    });
  };

  const title = () => {
    const [from, to] = state.pair.map((i) => el("bdi", {}, state.areas[i].name));
    byId("pair-title").replaceChildren(from, " → ", to);
  };

  odanon.profile = {
    shown: () => shown,
    rename: () => state.pair && title(),
    show: () => {
      byId("pair").hidden = !state.pair;
      document
        .querySelectorAll("[data-fold]")
        .forEach((button) => button.setAttribute("aria-pressed", button.dataset.fold === state.fold));
      if (!state.pair) {
        odanon.stopAsking("profile");
        byId("profile").removeAttribute("aria-busy");
        shown = null;
        return;
      }
      title();
      odanon.answer(byId("profile"), byId("profile-text"), "Following the flow through time …", gather, (found) => {
        shown = found;
        const notes = [...new Set(found.map((list) => list.note).filter(Boolean))];
        byId("profile-text").textContent = [
          "Solid up to the lower bound, striped up to the upper one, a tick at the estimate.",
          ...notes.map(odanon.sentence),
        ].join(" ");
        if (found.some((list) => list.steps.length)) draw();
        else byId("profile").replaceChildren(el("p", { class: "empty" }, "Nothing is published for these times."));
      });
    },
    redraw: () => shown && state.pair && shown.some((list) => list.steps.length) && draw(),
  };
})();
