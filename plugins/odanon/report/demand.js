"use strict";
// The page of a demand: agents over the day, against matrices and census, by trip length, and on a map by purpose.
(() => {
  const { el, byId, number, percent, axisNumber } = odanon;
  const data = JSON.parse(byId("data").textContent);
  const nothing = (id, words) => byId(id).append(el("p", { class: "note" }, words));

  byId("others").hidden = !byId("others").querySelector("tr");

  // --- over the day ---
  const { hours } = data;
  const two = (value) => String(value).padStart(2, "0");
  const clock = (hour) => `${two(Math.floor(hour))}:${two(Math.round((hour % 1) * 60))}`;
  const daily = Object.entries(hours.by_hour).map(([name, shares], i) => ({
    name,
    ...odanon.look(i),
    points: shares.map((share, step) => [
      hours.middle[step],
      share,
      [`from ${hours.steps[step]}, ${percent(share * hours.long[step])} in the whole step`],
    ]),
  }));
  byId("hours-key").append(odanon.key(daily));
  odanon.lines(byId("hours"), {
    name: "Share of the day's trips by hour",
    x: "time of day",
    y: "share of trips in an hour",
    series: daily,
    formatX: clock,
    formatY: percent,
    ticksX: [0, 3, 6, 9, 12, 15, 18, 21, 24],
    joined: true,
    linearY: true,
    dot: 0.8,
  });

  // --- fit ---
  const { pairs, profiles } = data;
  const most = Math.max(...pairs.pairs);
  const counted = odanon.count(
    pairs.pairs.reduce((all, n) => all + n, 0),
    "pair",
    "pairs",
  );
  if (pairs.pairs.length)
    odanon.lines(byId("pairs"), {
      name: "Agents against matrices by pair of zones",
      words: `${counted} of zones with trips in both, in ${number(pairs.pairs.length)} classes`,
      x: "matrices, of a million trips",
      y: "agents, of a million trips",
      series: [
        {
          name: "pairs of zones",
          ...odanon.look(0),
          points: pairs.od.map((value, i) => [
            value,
            pairs.agents[i],
            [odanon.count(pairs.pairs[i], "pair", "pairs")],
            "",
            0.45 + 1.2 * Math.sqrt(pairs.pairs[i] / most),
          ]),
        },
      ],
      formatX: axisNumber,
      formatY: axisNumber,
      logX: true,
      diagonal: true,
    });
  else nothing("pairs", "Nothing to draw: no two zones have trips both of agents and in the matrices.");
  const known = profiles.profile.map((_, i) => i).filter((i) => profiles.census[i] > 0 && profiles.agents[i] > 0);
  if (known.length)
    odanon.lines(byId("profiles"), {
      name: "Agents against census by profile",
      x: "census, people",
      y: "agents, people",
      series: [
        {
          name: "profiles",
          ...odanon.look(2),
          points: known.map((i) => [profiles.census[i], profiles.agents[i], [profiles.profile[i]]]),
        },
      ],
      formatX: axisNumber,
      formatY: axisNumber,
      logX: true,
      diagonal: true,
      dot: 0.8,
    });
  else nothing("profiles", "Nothing to draw: census and agents have no profile in common.");

  // --- lengths ---
  const curves = ["od", "agents"].map((of, i) => ({
    name: of === "od" ? "matrices" : "agents",
    ...odanon.look(i ? 3 : 0),
    points: data.lengths[of].km.map((km, at) => [km, data.lengths[of].passed[at]]),
  }));
  byId("lengths-key").append(odanon.key(curves));
  odanon.lines(byId("lengths"), {
    name: "Share of trips by length",
    x: "km",
    y: "share of trips at most so long",
    series: curves,
    formatX: number,
    formatY: percent,
    joined: true,
    linearY: true,
    dot: 0.6,
  });

  // --- on the map ---
  const zones = odanon.readZones(data.zones);
  const drawn = zones.some((zone) => zone.rings.length);
  const purpose = byId("purpose");
  purpose.append(
    el("option", { value: "" }, "all"),
    ...Object.keys(data.counts).map((name) => el("option", { value: name }, name)),
  );
  const columns = Object.values(data.counts);
  const all = zones.map((_, i) => columns.reduce((sum, column) => sum + column[i], 0));
  const numbers = () => (purpose.value ? data.counts[purpose.value] : all);
  const density = (i) => numbers()[i] / zones[i].km2;
  const lines = (i) => [
    zones[i].id,
    ...(data.communes[i] ? [data.communes[i]] : []),
    ...Object.keys(data.counts).map((name) => `${name}: ${number(data.counts[name][i])}`),
  ];
  let chosen = -1;
  const choose = (i) => {
    chosen = i;
    show();
  };
  const map =
    drawn &&
    odanon.map(byId("map"), zones, {
      hover: ([zone], event) => {
        if (zone === undefined || !event) odanon.tip.hide();
        else odanon.tip.show(lines(zone), event.clientX, event.clientY);
      },
      pick: ([zone]) => choose(zone === undefined || zone === chosen ? -1 : zone),
    });
  if (!drawn) byId("map").replaceWith(el("p", { class: "note" }, "No map: the zones have no outlines."));
  const table = odanon.table(byId("table"));
  const head = [
    { name: "Zone", value: (row) => row.zone.id, show: (row) => row.zone.id, title: (row) => row.zone.id, text: true },
    { name: "Activities", value: (row) => row.number, show: (row) => number(row.number), main: true },
    ...(drawn ? [{ name: "per km²", value: (row) => row.density, show: (row) => number(row.density) }] : []),
  ];
  const show = () => {
    const here = numbers();
    const rows = zones.map((zone, rank) => ({ zone, rank, number: here[rank], density: zone.km2 ? density(rank) : 0 }));
    const what = purpose.value ? `Activities: ${purpose.value}` : "All activities";
    byId("panel-title").textContent = what;
    byId("panel-text").textContent =
      chosen < 0
        ? `${number(here.reduce((sum, n) => sum + n, 0))} activities in ${odanon.count(zones.length, "zone", "zones")}. Press a zone for its numbers.`
        : lines(chosen).join(" · ");
    table.show(head, rows, {
      hover: (row) => map && map.mark(row ? row.zone.index : -1),
      pick: (row) => choose(row.zone.index),
    });
    if (!map) return;
    const some = rows.filter((row) => row.density > 0);
    const classes = odanon.classes(odanon.breaks(some.map((row) => row.density)), odanon.ramp("destination"));
    const fills = new Map(some.map((row) => [row.rank, classes.of(row.density)]));
    map.show({ fills, lines: [], chosen, asked: chosen });
    map.legend(`${what} per km²`, classes, "none");
  };
  purpose.addEventListener("change", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen >= 0) choose(-1);
  });
  show();
})();
