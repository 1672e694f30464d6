// The search of the site, in place of Sphinx's: it finds sections by most of the words, and has excerpts also from the disk.
(() => {
  const FOLDERS = { tutorials: 2, "how-to": 2, reference: 1, plugins: -1 };
  const PAGES = { CHANGELOG: -3, results: -2, bibliography: -2, CONTRIBUTING: -1 };
  const EXCERPT = 220; // characters

  // What a word may look like in a text: whole words that begin with its stem, so that "memory" finds "memories".
  const pattern = (word) => {
    const stem = new Stemmer().stemWord(word);
    let same = 0;
    while (same < stem.length && stem[same] === word[same]) same += 1;
    const begun = word.slice(0, same) + (stem[same] === "i" ? "(?:y|i(?=[aeo]))" : "");
    const rest = word.length < 3 ? "(?![\\p{L}\\p{N}])" : "[\\p{L}\\p{N}]*";
    return { word, pattern: new RegExp(`(?<![\\p{L}\\p{N}])${begun}${rest}`, "giu") };
  };

  // How well a text says a word: 0 not at all, 0.5 within a longer one (restore for rest), 1 as it was asked.
  const says = (text, { word, pattern: form }) =>
    Math.max(0, ...(text.match(form) ?? []).map((each) => (each.length > word.length + 2 ? 0.5 : 1)));

  const asked = (query) => {
    const words = [...new Set(splitQuery(query.toLowerCase()))];
    const telling = words.filter((word) => !stopwords.has(word));
    return (telling.length ? telling : words).map(pattern);
  };

  // For each word how well a section answers it: by the title most, and by a text that says it often more than by one that mentions it.
  const answered = (section, words) =>
    words.map((word) => {
      const often = 1 + Math.min(3, (section.text.match(word.pattern) ?? []).length) / 3;
      return 3 * says(section.title, word) + 2 * says(section.of, word) + often * says(section.text, word);
    });

  // The best section of every page that has all words, or as many as any page has, best first.
  const found = (query) => {
    const words = asked(query);
    const scored = SECTIONS.map((section) => ({ section, found: answered(section, words) }));
    const rare = words.map((_, i) =>
      Math.log(1 + SECTIONS.length / (1 + scored.filter((each) => each.found[i]).length)),
    );
    const weighed = (values) => values.reduce((sum, value, i) => sum + value * rare[i], 0);
    const pages = new Map();
    for (const each of scored) {
      each.score = weighed(each.found);
      const page = pages.get(each.section.page) ?? { has: words.map(() => 0), best: each };
      page.has = page.has.map((had, i) => (had || each.found[i] ? 1 : 0));
      if (each.score > page.best.score) page.best = each;
      pages.set(each.section.page, page);
    }
    const count = (page) => page.has.reduce((sum, had) => sum + had, 0);
    const most = Math.max(...[...pages.values()].map(count));
    return [...pages]
      .filter(([, page]) => most && count(page) === most)
      .map(([name, page]) => ({
        ...page.best.section,
        words,
        score: page.best.score + 4 * weighed(page.has) + (FOLDERS[name.split("/")[0]] ?? 0) + (PAGES[name] ?? 0),
      }))
      .sort((a, b) => b.score - a.score || a.title.length - b.title.length);
  };

  // The text around the first of the words, with all of them marked.
  const excerpt = ({ text, words }) => {
    const first = Math.min(
      ...words.map((word) => text.search(word.pattern)).filter((place) => place >= 0),
      text.length,
    );
    const start = first === text.length ? 0 : Math.max(0, text.lastIndexOf(" ", Math.max(0, first - 60)) + 1);
    const part = text.slice(start, start + EXCERPT);
    const marks = words.flatMap((word) =>
      [...part.matchAll(word.pattern)].map((match) => [match.index, match.index + match[0].length]),
    );
    const line = document.createElement("p");
    line.className = "context";
    let at = 0;
    for (const [from, to] of marks.sort((a, b) => a[0] - b[0])) {
      if (from < at) continue;
      const mark = document.createElement("mark");
      mark.textContent = part.slice(from, to);
      line.append(part.slice(at, from), mark);
      at = to;
    }
    line.append(part.slice(at));
    if (start) line.prepend("… ");
    if (start + EXCERPT < text.length) line.append(" …");
    return line;
  };

  const shown = (result) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${result.page}.html${result.anchor}`;
    link.textContent = result.anchor ? `${result.of} › ${result.title}` : result.title;
    item.append(link, excerpt(result));
    return item;
  };

  Search.found = found;
  Search.query = (query) => {
    const results = found(query);
    Search.output.append(...results.map(shown));
    _finishSearch(results.length);
  };
})();
