"use strict";
// The ground of the page: its map and what is drawn there.
(() => {
  const { byId, state } = odanon;
  let plane = odanon.plane([-1, -1, 1, 1]);
  let basemap = null;
  let edited = -1; // the area whose corners are moved
  let corrected = -1; // the one whose corners were moved last
  let tools = null;

  const map = odanon.map(byId("map"), [], {
    hover: (under, event) => odanon.published.data() && odanon.published.hover(map, under, event),
    pick: (under) => odanon.published.data() && odanon.published.pick(under),
    below: (paint, view, size) => {
      if (!basemap) return false;
      basemap(paint, plane, view, size);
      return true;
    },
    over: (paint, view, size) => {
      odanon.names.paint(paint, view, size, odanon.published.shown());
      odanon.areas.paint(paint, view, plane, edited);
      if (tools) tools.paint(paint);
    },
    moved: () => keepView(),
  });
  let viewTimer = null;
  const keepView = () => {
    clearTimeout(viewTimer);
    viewTimer = setTimeout(() => {
      const { x, y, scale, size, untouched } = map.view();
      const [lon, lat] = plane.from((size.width / 2 - x) / scale, (size.height / 2 - y) / scale);
      state.view = untouched ? null : { lon, lat, scale };
      odanon.address.write();
    }, 250);
  };
  const restoreView = () => {
    if (!state.view) return;
    const { size } = map.view();
    const [x, y] = plane.to(state.view.lon, state.view.lat);
    const { scale } = state.view;
    map.look({ scale, x: size.width / 2 - x * scale, y: size.height / 2 - y * scale });
  };
  const lookAt = (areas) => {
    const rings = areas.flatMap((area) => odanon.shapes.rings(area, plane));
    if (!rings.length) return;
    lookAtBox(odanon.boxOf(rings), 0.7);
  };
  // A box of the plane in the middle of the map, which it fills to this share.
  const lookAtBox = ([left, top, right, bottom], share) => {
    const { size } = map.view();
    const scale = share * Math.min(size.width / Math.max(200, right - left), size.height / Math.max(200, bottom - top));
    map.look({
      scale,
      x: size.width / 2 - (scale * (left + right)) / 2,
      y: size.height / 2 - (scale * (top + bottom)) / 2,
    });
  };
  odanon.areas.look = () => lookAt(state.areas);

  // --- drawing ---
  const press = (selector, name) =>
    document
      .querySelectorAll(`[data-${selector}]`)
      .forEach((button) => button.setAttribute("aria-pressed", button.dataset[selector] === name));
  const take = (zone) => {
    if (zone === undefined) {
      odanon.say("Nothing is published here.", true);
      return;
    }
    const { zones, nameOf } = odanon.published.data();
    const path = `api/products/${encodeURIComponent(state.product)}/zone?${new URLSearchParams({ id: zones[zone].id })}`;
    const show = (feature) => {
      odanon.areas.add([{ ...odanon.shapes.fromFeature(feature), name: nameOf(zone) }]);
      odanon.say(`${nameOf(zone)} is one of my areas now.`);
    };
    odanon.answer(byId("area-list"), byId("hint"), "Fetching the outline …", () => odanon.ask("zone", path), show);
  };
  tools = odanon.tools(map, {
    plane: () => plane,
    said: (text) => odanon.say(text),
    hover: (event) => odanon.published.data() && odanon.published.hover(map, map.under(event), event),
    take: (event) => odanon.published.data() && take(odanon.published.smallest(map.under(event))),
    drawn: (corners) => {
      const name = odanon.areas.freeName();
      odanon.areas.add([odanon.shapes.fromCorners(name, corners)]);
      odanon.say(
        `${name} is drawn.${state.areas.length < 2 ? " Draw another one to see the trips between the two." : ""}`,
      );
    },
    edited: (corners) => {
      const better = (area, i) => (i === corrected ? odanon.shapes.fromCorners(area.name, corners) : area);
      odanon.choose({ areas: state.areas.map(better) });
    },
    ended: () => {
      edited = -1;
      press("tool", null);
      for (const id of ["finish", "cancel"]) byId(id).hidden = true;
      odanon.say("");
      odanon.tip.hide();
    },
  });
  const begin = (name, corners) => {
    odanon.tip.hide();
    tools.begin(name, corners);
    press("tool", name);
    byId("finish").hidden = name === "rectangle";
    byId("finish").textContent = name === "zone" ? "Done" : "Finish";
    byId("cancel").hidden = name === "zone";
  };
  const areaActs = {
    look: lookAt,
    edit: (index) => {
      lookAt([state.areas[index]]);
      begin("edit", odanon.shapes.corners(state.areas[index]));
      edited = corrected = index;
    },
  };

  odanon.ground = {
    map,
    tools,
    take,
    begin,
    press,
    areaActs,
    lookAtBox,
    // Another product: its plane, and the view that the address tells.
    open: (box) => {
      plane = odanon.plane(box);
      if (state.view) restoreView();
      else map.look(null);
    },
    lay: (told) => {
      if (basemap) return;
      basemap = odanon.basemap(told, map.redraw);
      byId("foot").append(` Base map: ${told.attribution}.`);
    },
  };
})();
