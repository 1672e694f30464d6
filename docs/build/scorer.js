// How search results are ordered: titles first, as Sphinx has it; among equals, pages that answer before pages that mention.
const FOLDERS = { tutorials: 4, "how-to": 3, reference: 2, plugins: -2 };
const PAGES = { CHANGELOG: -4, results: -3, bibliography: -3, CONTRIBUTING: -2, index: -1 };
var Scorer = {
  score: ([page, , , , score]) => score + (FOLDERS[page.split("/")[0]] ?? 0) + (PAGES[page] ?? 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
