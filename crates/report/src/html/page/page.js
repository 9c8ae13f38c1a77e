"use strict";
// What the page gains with scripts: sorting and filtering of tables, the theme, what a mark of a chart stands for, and
// files that are unpacked before they are saved. Without them everything is there to read.
(function () {
  const root = document.documentElement;
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const make = (name, properties) => Object.assign(document.createElement(name), properties);

  // Where storage is refused, as it may be for files, the choice lasts as long as the page.
  const store = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(key, value); } catch { /* refused */ } },
  };

  function theme() {
    const button = document.getElementById("theme");
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
    const label = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", "Switch to the " + (isDark() ? "light" : "dark") + " theme");
    };
    const kept = store.get("assay-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      store.set("assay-theme", root.dataset.theme);
      label();
    });
    dark.addEventListener("change", label);
    button.hidden = false;
    label();
  }

  const PREFIXES = { p: -12, n: -9, u: -6, m: -3, k: 3, K: 3, M: 6, G: 9, T: 12, P: 15 };
  const NUMBER = /^±?(-?[\d.]+(?:e-?\d+)?) ?(?:([pnumkKMGTP])(?=i?[BbsFOIH]))?(?:[^\d]*)$/;

  // What a cell is sorted by: its number in base units, else its words; what is absent comes last either way.
  function key(cell) {
    if (!cell) return null;
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    const text = cell.textContent.trim();
    if (text === "" || text === "–") return null;
    const [, number, prefix] = text.match(NUMBER) || [];
    return number === undefined ? text : Number(number + "e" + (PREFIXES[prefix] || 0));
  }

  const words = new Intl.Collator("en", { numeric: true });

  function compare(one, other) {
    if (typeof one === "number" && typeof other === "number") return one - other;
    if (typeof one === "number") return -1;
    if (typeof other === "number") return 1;
    return words.compare(one, other);
  }

  function sort(table, index, descending) {
    const body = table.tBodies[0];
    const lines = Array.from(body.rows, (row, place) => ({ row, place, key: key(row.cells[index]) }));
    lines.sort((one, other) => {
      if (one.key === null || other.key === null) {
        return (one.key === null) - (other.key === null) || one.place - other.place;
      }
      return (descending ? compare(other.key, one.key) : compare(one.key, other.key)) || one.place - other.place;
    });
    body.append(...lines.map((line) => line.row));
  }

  function sortable(table) {
    if (table.tBodies[0].rows.length < 2) return;
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, index) => {
      const isFigure = table.classList.contains("n" + (index + 1));
      const button = make("button", { type: "button", textContent: head.textContent });
      button.className = isFigure ? "sort n" : "sort";
      button.tabIndex = index ? -1 : 0;
      head.setAttribute("aria-sort", "none");
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        // Of figures the greatest are wanted first, of words the first.
        const before = head.getAttribute("aria-sort");
        const descending = before === "none" ? isFigure : before === "ascending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, index, descending);
      });
    });
    // One stop of the tab key for all heads: the arrow keys lead from one to the next.
    const line = table.tHead.rows[0];
    line.title = "Sort by a column; the arrow keys lead to the others";
    line.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const buttons = all("button", line);
      const next = step && buttons[buttons.indexOf(document.activeElement) + step];
      if (!next) return;
      event.preventDefault();
      buttons.forEach((button) => { button.tabIndex = button === next ? 0 : -1; });
      next.focus();
    });
    table.closest(".scroll").removeAttribute("tabindex");
  }

  // A field above a long table that hides the lines without its words.
  function filter(table) {
    const rows = Array.from(table.tBodies[0].rows);
    if (rows.length < 13 || table.closest(".as-table")) return;
    const title = table.caption || document.getElementById(table.getAttribute("aria-labelledby"));
    const name = title.textContent;
    const field = make("input", { type: "search", placeholder: "Filter rows", autocomplete: "off" });
    field.setAttribute("aria-label", "Filter the rows of: " + name);
    const count = make("output", { className: "found" });
    const texts = rows.map((row) => row.textContent.toLowerCase());
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      rows.forEach((row, index) => {
        row.hidden = !wanted.every((word) => texts[index].includes(word));
        found += row.hidden ? 0 : 1;
      });
      count.textContent = wanted.length ? found + " of " + rows.length + " rows" : "";
    });
    const box = make("p", { className: "filter" });
    box.append(field, count);
    const scroll = table.closest(".scroll");
    scroll.parentNode.insertBefore(box, scroll);
  }

  // What a mark of a chart stands for, beside the pointer, or by the arrow keys on the chart. It is the mark's title;
  // the browser's own tip would stand over ours.
  function tips() {
    const tip = document.getElementById("tip");
    const told = new Map();
    let shown = null;
    const hide = () => {
      tip.hidden = true;
      if (shown) shown.classList.remove("shown");
      shown = null;
    };
    const show = (mark) => {
      hide();
      shown = mark;
      mark.classList.add("shown");
      tip.textContent = told.get(mark);
      tip.hidden = false;
      const box = mark.getBoundingClientRect();
      const left = Math.min(box.left + box.width / 2 + 12, root.clientWidth - tip.offsetWidth - 8);
      const above = box.top - tip.offsetHeight - 10;
      tip.style.left = Math.max(8, left) + scrollX + "px";
      tip.style.top = (above > 4 ? above : box.bottom + 10) + scrollY + "px";
    };
    for (const chart of all("svg.chart")) {
      const own = [];
      for (const title of all("title", chart)) {
        const mark = title.parentElement;
        if (mark === chart) continue;
        own.push(mark);
        told.set(mark, title.textContent);
        mark.classList.add("told");
        title.remove();
      }
      if (!own.length) continue;
      chart.addEventListener("pointerover", (event) => {
        let mark = event.target;
        while (mark !== chart && !told.has(mark)) mark = mark.parentElement;
        if (told.has(mark)) show(mark); else hide();
      });
      chart.addEventListener("pointerleave", hide);
      chart.tabIndex = 0;
      chart.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const at = own.indexOf(shown);
        show(own[at < 0 ? (step > 0 ? 0 : own.length - 1) : (at + step + own.length) % own.length]);
      });
      chart.addEventListener("blur", hide);
    }
    addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  }

  // A packed file is saved as what is in it, where the browser can unpack it.
  function files() {
    if (typeof DecompressionStream === "undefined") return;
    for (const link of all("a[data-name]")) {
      link.addEventListener("click", async (event) => {
        event.preventDefault();
        const packed = Uint8Array.from(atob(link.href.slice(link.href.indexOf(",") + 1)), (c) => c.charCodeAt(0));
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
        const bytes = await new Response(stream).arrayBuffer();
        const url = URL.createObjectURL(new Blob([bytes], { type: link.dataset.media }));
        const save = make("a", { href: url, download: link.dataset.name });
        save.click();
        setTimeout(() => URL.revokeObjectURL(url), 10000);
      });
    }
  }

  // Links lead into folded parts, and paper has none but those that only repeat others.
  function folds() {
    const unfold = () => {
      const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
      for (let box = target; box; box = box.parentElement) if (box.localName === "details") box.open = true;
      const folded = target && target.closest(".long");
      if (folded) folded.querySelector(".all input").checked = true;
      if (target) target.scrollIntoView();
    };
    addEventListener("hashchange", unfold);
    unfold();
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = all("details:not([open], .rows, .calls, .as-table)");
      closed.forEach((box) => { box.open = true; });
    });
    addEventListener("afterprint", () => closed.forEach((box) => { box.open = false; }));
  }

  // The section that is read is marked in the contents.
  function contents() {
    const links = all("nav a");
    const watch = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
      const link = links.find((own) => own.hash === "#" + target.id);
      link.removeAttribute("aria-current");
      if (!isIntersecting) return;
      link.setAttribute("aria-current", "true");
      link.parentNode.parentNode.scrollTo({ left: link.offsetLeft - 64 });
    }), { rootMargin: "-20% 0% -80% 0%" });
    links.forEach((link) => watch.observe(document.querySelector(link.hash)));
  }

  theme();
  contents();
  all("table.sortable").forEach((table) => { sortable(table); filter(table); });
  tips();
  files();
  folds();
})();
