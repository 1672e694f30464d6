"use strict";
// One flow between two own areas over the day, over the week, or through the period, with its bounds; of one period or two.
(() => {
  const { byId, el, state, known, when, days } = odanon;
  let shown = null; // [{name, steps}], one or two

  const stepOf = (period) => {
    if (state.fold === "day") return { step: state.step, fold: "day" };
    if (state.fold === "week") return { step: "1d", fold: "week" };
    const long = days.between(...when.span(period));
    return { step: long <= 2 ? state.step : long <= 120 ? "1d" : "7d", fold: null };
  };
  const ask = (period, name) => {
    const [origin, destination] = state.pair.map((i) => odanon.shapes.geometry(state.areas[i]));
    const asked = { origin, destination, when: when.question(period), reading: state.reading, ...stepOf(period) };
    return odanon.ask(name, `api/products/${encodeURIComponent(state.product)}/profile`, odanon.json(asked));
  };
  const gather = async () => {
    const periods = state.b ? [state.a, state.b] : [state.a];
    const told = await Promise.all(periods.map((period, i) => ask(period, i ? "profile-second" : "profile")));
    return told.map((answer, i) => ({ name: when.label(periods[i]), steps: answer.steps, note: answer.note }));
  };

  const plot = odanon.bars(byId("profile"));
  const axis = {
    day: "trips by time of the day, mean of a day",
    week: "trips by day of the week, mean of a week",
    none: "trips through the period",
  };
  const draw = () => {
    const labels = shown.map(({ steps }) => steps).reduce((a, b) => (b.length > a.length ? b : a));
    const at = (list, key) => labels.map((_, i) => (list.steps[i] ? list.steps[i][key] : 0));
    const classes = ["fill-origin", "fill-destination"];
    plot.show({
      name: `Trips from ${state.areas[state.pair[0]].name} to ${state.areas[state.pair[1]].name}`,
      x: axis[state.fold],
      labels: labels.map((step) => step.label),
      format: odanon.axisNumber,
      series: shown.map((list, i) => ({
        name: list.name,
        class: classes[i],
        values: at(list, "estimate"),
        low: at(list, "low"),
        high: at(list, "high"),
      })),
      tip: (i) => [
        labels[i].label,
        ...shown.flatMap(({ name, steps }) => {
          if (!steps[i]) return [];
          const words = known.sentence(steps[i]);
          const spread = steps[i].spread_over_hours;
          return [
            shown.length > 1 ? `${name}: ${words}` : words,
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
