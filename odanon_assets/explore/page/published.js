"use strict";
// What is published, on the map and as a table: areas by departures or arrivals, and the flows of a chosen one.
(() => {
  const { byId, el, state, number, percent, count } = odanon;
  const opposite = { origin: "destination", destination: "origin" };
  const capital = (word) => word[0].toUpperCase() + word.slice(1);
  const none = new Map();

  // told: the answer for flows; zones on the plane of the map.
  const open = (told, zones) => {
    const alike = (value) => told.flows.trips.map(() => value);
    const flows = odanon.readFlows({ ...told.flows, bin: alike(0), segment: alike(0), band: alike(-1) }, zones);
    const nameOf = (zone) => odanon.nameOf(zones[zone]);
    return { told, zones, flows, nameOf, indexOf: new Map(zones.map((zone, i) => [zone.id, i])) };
  };

  let data = null;
  let values = none;
  let byZone = none;
  const view = () => {
    const asked = state.zone === null ? -1 : (data.indexOf.get(state.zone) ?? -1);
    return { side: state.side, bin: -1, segment: -1, zone: asked };
  };
  const sizeOf = (zone) => `${count(data.zones[zone].tiles, "tile", "tiles")}, ${number(data.zones[zone].km2)} km²`;
  const isCoarse = (row) => row.coarse > 0.5 * row.trips;
  const title = (zone) => odanon.fullName(data.zones[zone]);

  const tip = (zone) => {
    const row = byZone.get(zone);
    const lines = [el("bdi", {}, data.nameOf(zone)), count(Math.round(row.trips), "trip", "trips")];
    if (row.coarse) lines.push(`${percent(row.coarse / row.trips)} of them told coarsely, as rests`);
    if (view().zone < 0) lines.push(count(row.partners, opposite[state.side], `${opposite[state.side]}s`));
    lines.push(sizeOf(zone));
    if (state.measure === "density") lines.push(`${number(values.get(zone))} trips per km² here`);
    return lines;
  };
  const table = odanon.table(byId("table"));
  const zoneColumn = (name, key) => ({
    name,
    text: true,
    value: (row) => data.nameOf(row[key]),
    show: (row) => data.nameOf(row[key]),
    title: (row) => title(row[key]),
  });
  const trips = { name: "Trips", main: true, value: (row) => row.trips, show: (row) => number(Math.round(row.trips)) };
  const coarse = {
    name: "Coarse",
    value: (row) => row.coarse / row.trips,
    show: (row) => (row.coarse ? percent(row.coarse / row.trips) : "–"),
  };

  const showMap = (map, asked, chosen, rows) => {
    byZone = new Map(rows.map((row) => [row.zone, row]));
    values = data.flows.values(rows, state.measure);
    const ramp = odanon.ramp(asked.zone < 0 ? state.side : opposite[state.side]);
    const classes = odanon.classes(odanon.breaks([...values.values()]), ramp);
    const hatched = new Set(rows.filter(isCoarse).map((row) => row.zone));
    const lines = state.lines ? data.flows.lines({ ...asked, zone: chosen }, state.lines) : [];
    map.show({
      fills: new Map([...values].map(([zone, value]) => [zone, classes.of(value)])),
      hatched,
      lines,
      chosen,
      asked: asked.zone,
    });
    const what = asked.zone >= 0 ? `${opposite[state.side]}s` : state.side === "origin" ? "departures" : "arrivals";
    map.legend(
      `${capital(what)}, ${state.measure === "density" ? "trips per km²" : "trips"}`,
      classes,
      "none, or too few people",
      hatched.size ? "mostly told coarsely" : null,
    );
  };
  const showTable = (map, asked, chosen, rows) => {
    const far = opposite[state.side];
    const hover = (row) => map.mark(row ? row.zone : -1);
    const told = data.flows.hasRests ? [trips, coarse] : [trips];
    if (asked.zone >= 0) {
      const total = rows.reduce((sum, row) => sum + row.trips, 0);
      const share = { name: "Share", value: (row) => row.trips, show: (row) => percent(row.trips / total) };
      const columns = [zoneColumn(capital(far), "zone"), ...told, share];
      table.show(columns, rows, { hover, pick: (row) => odanon.choose({ zone: data.zones[row.zone].id, side: far }) });
      byId("panel-title").replaceChildren(
        state.side === "origin" ? "From " : "To ",
        el("bdi", {}, data.nameOf(chosen < 0 ? asked.zone : chosen)),
      );
      const standsIn =
        chosen === asked.zone || chosen < 0
          ? ""
          : ` It stands in for the ${data.zones[chosen].km2 > data.zones[asked.zone].km2 ? "smaller" : "larger"} area you chose.`;
      byId("panel-text").textContent =
        chosen < 0
          ? "Nothing is published here at this time."
          : `${count(Math.round(total), "trip", "trips")} ${state.side === "origin" ? "to" : "from"} ${count(rows.length, "area", "areas")}. Size: ${sizeOf(chosen)}.${standsIn}`;
      return;
    }
    const left = data.told.left_out
      ? ` The ${number(data.told.flows.trips.length)} largest flows are shown; ${number(data.told.left_out)} smaller ones are not.`
      : "";
    const gone =
      state.zone === null ? "" : `Nothing is published for ${state.zone} at this time; these are all areas. `;
    byId("panel-title").textContent = `${count(rows.length, `${state.side} area`, `${state.side} areas`)}`;
    byId("panel-text").textContent =
      `${gone}${odanon.when.inWords(odanon.when.shown())}: ${count(Math.round(data.told.trips), "trip", "trips")} published. Choose an area, on the map or here, to see where its trips ${state.side === "origin" ? "go" : "come from"}.${left}`;
    if (state.table === "flows") {
      const pairs = data.flows.pairs(asked).map((row) => ({ ...row, zone: row[far] }));
      table.show([zoneColumn("Origin", "origin"), zoneColumn("Destination", "destination"), ...told], pairs, {
        hover,
        pick: (row) => odanon.choose({ zone: data.zones[row[state.side]].id }),
      });
    } else {
      const ends = { name: capital(`${far}s`), value: (row) => row.partners, show: (row) => number(row.partners) };
      table.show([zoneColumn("Area", "zone"), ...told, ends], rows, {
        hover,
        pick: (row) => odanon.choose({ zone: data.zones[row.zone].id }),
      });
    }
  };

  odanon.published = {
    load: (...told) => {
      data = open(...told);
      return data;
    },
    // What is shown of another time is no answer to this question.
    clear: (map) => {
      data = null;
      values = byZone = none;
      map.show({ fills: none, hatched: new Set(), lines: [], chosen: -1, asked: -1 });
      byId("map").querySelector(".legend").replaceChildren();
      for (const id of ["panel-title", "table"]) byId(id).replaceChildren();
      for (const id of ["take", "clear", "table-choice"]) byId(id).hidden = true;
    },
    data: () => data,
    shown: () => byZone,
    show: (map) => {
      if (!data) return;
      const asked = view();
      const chosen = data.flows.standIn(asked);
      const rows =
        asked.zone < 0 ? data.flows.areas(asked) : chosen < 0 ? [] : data.flows.partners({ ...asked, zone: chosen });
      showMap(map, asked, chosen, rows);
      showTable(map, asked, chosen, rows);
      byId("take").hidden = asked.zone < 0;
      byId("clear").hidden = state.zone === null;
      byId("table-choice").hidden = asked.zone >= 0;
    },
    hover: (map, under, event) => {
      const here = under.filter((zone) => byZone.has(zone));
      map.mark(here.length ? here[0] : -1);
      byId("map").classList.toggle("pickable", here.length > 0);
      if (here.length && event) odanon.tip.show(tip(here[0]), event.clientX, event.clientY);
      else odanon.tip.hide();
    },
    // A second press at the same place reaches the next larger area below; after the last, none.
    pick: (under) => {
      const asked = view();
      const here = under.filter((zone) => data.flows.trips(asked, zone) > 0);
      const next = here[here.indexOf(data.flows.standIn(asked)) + 1];
      odanon.choose({ zone: next === undefined ? null : data.zones[next].id });
    },
    // The smallest area below a place that some flow starts or ends in.
    smallest: (under) =>
      under.find((zone) => ["origin", "destination"].some((side) => data.flows.trips({ ...view(), side }, zone) > 0)),
  };
})();
