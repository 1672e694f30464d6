"use strict";
// The three plots of what a release is made of: sizes of areas, sizes of flows, people behind a flow.
(() => {
  const { byId, number, percent, count } = odanon;
  const few = 9;
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const shares = (list) => {
    const all = sum(list) || 1;
    return list.map((value) => value / all);
  };

  // Counts by classes: `edges` are the lower limits of whole-number classes, the last one open.
  const histogram = (values, weights, edges) => {
    const sums = edges.map(() => 0);
    values.forEach((value, i) => {
      let slot = edges.length - 1;
      while (slot > 0 && value < edges[slot]) slot--;
      sums[slot] += weights ? weights[i] : 1;
    });
    return sums;
  };
  const labelsOf = (edges, end) =>
    edges.map((edge, i) => {
      const last = (i + 1 < edges.length ? edges[i + 1] : end) - 1;
      return edge === last ? number(edge) : `${number(edge)}–${number(last)}`;
    });

  // The sizes themselves where a regular hierarchy has only a few, else doubling classes.
  const sizeClasses = (tiles) => {
    const sizes = [...new Set(tiles)].sort((a, b) => a - b);
    if (sizes.length <= few) return { edges: sizes, labels: sizes.map((size) => number(size)) };
    const edges = [1];
    while (edges.at(-1) * 2 <= sizes.at(-1)) edges.push(edges.at(-1) * 2);
    return { edges, labels: labelsOf(edges, edges.at(-1) * 2) };
  };
  const areaSizes = (data) => {
    const { edges, labels } = sizeClasses(data.zones.tiles);
    const sizes = (ends) => ends.map((zone) => data.zones.tiles[zone]);
    const side = (name, ends) => ({
      name: `${name}s`,
      class: `fill-${name}`,
      values: shares(histogram(sizes(ends), data.flows.trips, edges)),
    });
    const series = [side("origin", data.flows.o), side("destination", data.flows.d)];
    odanon.bars(byId("area-sizes")).show({
      name: "Share of trips by size of area",
      x: "tiles in the area",
      labels,
      series,
      format: percent,
      tip: (i) => [
        `${labels[i]} ${labels[i] === "1" ? "tile" : "tiles"}`,
        ...series.map((s) => `${s.name}: ${percent(s.values[i])} of the trips`),
      ],
    });
  };

  const flowSizes = (data) => {
    const [least, most] = data.flows.trips.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, 0]);
    const limits = [];
    for (let power = 10 ** Math.floor(Math.log10(least)); power <= 10 * most; power *= 10)
      limits.push(power, 2 * power, 5 * power);
    const edges = limits.filter((limit, i) => limit <= most && limits[i + 1] > least);
    const labels = labelsOf(
      edges,
      limits.find((limit) => limit > most),
    );
    const counts = histogram(data.flows.trips, null, edges);
    odanon.bars(byId("flow-sizes")).show({
      name: "Flows by trips",
      x: "trips in the flow",
      labels,
      format: odanon.axisNumber,
      series: [{ name: "flows", class: "fill-plain", values: counts }],
      tip: (i) => [
        `${labels[i]} trips`,
        count(counts[i], "flow", "flows"),
        `${percent(counts[i] / sum(counts))} of the flows`,
      ],
    });
  };

  const peopleBands = (data) => {
    byId("people-figure").hidden = !data.bands.length;
    if (!data.bands.length) return;
    const flows = data.bands.map(() => 0);
    const trips = data.bands.map(() => 0);
    data.flows.band.forEach((band, i) => {
      if (band >= 0) {
        flows[band] += 1;
        trips[band] += data.flows.trips[i];
      }
    });
    const who = odanon.who(data);
    const series = [
      { name: "flows", class: "fill-plain", values: shares(flows) },
      { name: "trips", class: "fill-soft", values: shares(trips) },
    ];
    odanon.bars(byId("people-bands")).show({
      name: `Flows and trips by band of ${who}`,
      x: `${who} behind the flow`,
      labels: data.bands,
      series,
      format: percent,
      tip: (i) => [`${data.bands[i]} ${who}`, ...series.map((s) => `${percent(s.values[i])} of the ${s.name}`)],
    });
  };

  odanon.releasePlots = (data) => {
    areaSizes(data);
    flowSizes(data);
    peopleBands(data);
  };
})();
