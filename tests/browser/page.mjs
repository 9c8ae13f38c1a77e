// The report's page in a real Chromium: opened from the disk, read, hovered, sorted, filtered, printed, on a phone, in
// both themes, and without scripts.
//
//   node page.mjs MODULES OUT PAGE...
//
// MODULES is the folder with node_modules, OUT where pictures go, and each PAGE a file. Every line that it prints
// begins with `ok`, `FAILED` or `note`; the status is 0 unless something failed. Nothing here asserts how long anything
// takes.

import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import process from "node:process";
import { gunzipSync } from "node:zlib";

const [modules, out, ...pages] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const DESK = { width: 1366, height: 900 };
const PHONE = { width: 390, height: 740 };
// A4 in points, as PDF counts.
const A4 = [595, 842];

let failed = 0;

function check(what, faults) {
  const list = [].concat(faults).filter(Boolean);
  if (list.length === 0) {
    console.log("ok " + what);
  } else {
    failed += 1;
    console.log("FAILED " + what + ": " + list.slice(0, 5).join("; ") + (list.length > 5 ? " and more" : ""));
  }
}

// Opens a file and notes whatever a page may not do.
async function open(browser, file, options) {
  const context = await browser.newContext({ viewport: DESK, offline: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  const address = pathToFileURL(resolve(file)).href;
  const faults = [];
  page.on("request", (request) => {
    const url = request.url();
    if (url.split("#")[0] !== address && !url.startsWith("blob:file:") && !url.startsWith("data:application/gzip")) {
      faults.push("asked for " + url.slice(0, 80));
    }
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push("console: " + message.text().slice(0, 200));
  });
  page.on("pageerror", (error) => faults.push("script: " + error.message));
  await page.goto(address);
  return { context, page, faults };
}

// What axe-core finds, everything unfolded.
async function accessibility(page) {
  await page.evaluate(() => document.querySelectorAll("details").forEach((box) => { box.open = true; }));
  await page.evaluate(axe);
  const result = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return result.violations.map((one) => one.id + " (" + one.nodes.length + "): " + one.nodes[0].html.slice(0, 120)
    + " " + (one.nodes[0].any[0]?.message ?? ""));
}

// Whether the page as a whole is wider than what it is shown in.
async function overflow(page) {
  return page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    const wide = document.documentElement.scrollWidth;
    return wide > room ? wide + " px wide in " + room : "";
  });
}

// How often the tab key stops before the end of the page.
const stops = (page) => page.evaluate(() => Array.from(document.querySelectorAll("a[href], button, input, summary, [tabindex='0']"))
  .filter((element) => element.tabIndex >= 0 && element.checkVisibility()).length);

// The tables whose benchmark and value are not in view without scrolling.
const hidden = (page) => page.evaluate(() => Array.from(document.querySelectorAll("section.area > .tabled table")).filter((table) => {
  const place = Number(/\bv(\d)\b/.exec(table.className)?.[1] ?? 0);
  const cell = place && table.checkVisibility() ? table.tBodies[0].rows[0].cells[place - 1] : null;
  return cell && cell.getBoundingClientRect().right > document.documentElement.clientWidth;
}).map((table) => "value out of view: " + table.getAttribute("aria-labelledby")));

// What is too large about the report of a run: a page that nobody reads or prints to its end.
async function tooLarge(page, file, paper) {
  const isRun = await page.evaluate(() => document.getElementById("conditions") !== null);
  if (!isRun) return [];
  const isClassic = (await page.locator(".kicker").textContent()).startsWith("classic");
  const screens = await page.evaluate(() => document.documentElement.scrollHeight) / DESK.height;
  const sizes = [["bytes", readFileSync(file).length, isClassic ? 1.2e6 : 3e5], ["screens", screens, 60], ["stops of the tab key", await stops(page), 200],
    ["pages of paper", paper, 30]];
  console.log("note " + basename(file) + ": " + sizes.map(([what, size]) => Math.round(size) + " " + what).join(", "));
  return sizes.map(([what, size, most]) => (size > most ? size + " " + what + ", at most " + most : ""));
}

// The pages of a PDF and what is wrong with them.
function paper(pdf) {
  const text = pdf.toString("latin1");
  const count = (text.match(/\/Type\s*\/Page\b/g) ?? []).length;
  const boxes = [...text.matchAll(/\/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)/g)];
  const odd = boxes.filter(([, width, height]) => Math.abs(width - A4[0]) > 1 || Math.abs(height - A4[1]) > 1);
  return { count, faults: [count > 0 ? "" : "no page", odd.length > 0 ? "not A4: " + odd[0][0] : ""] };
}

async function everyPage(browser, file) {
  const name = basename(file, ".html");
  for (const colorScheme of ["light", "dark"]) {
    const { context, page, faults } = await open(browser, file, { colorScheme });
    const usable = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd);
    console.log("note " + name + ": usable after " + Math.round(usable) + " ms (" + colorScheme + ")");
    await page.screenshot({ path: join(out, name + "-" + colorScheme + ".png") });
    check(name + ": no violation of accessibility, " + colorScheme, await accessibility(page));
    check(name + ": asks for nothing and has nothing to complain of, " + colorScheme, faults);
    await context.close();
  }
  const phone = await open(browser, file, { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
  await phone.page.evaluate(() => document.querySelectorAll("details").forEach((box) => { box.open = true; }));
  check(name + ": fits a phone", [await overflow(phone.page), ...await hidden(phone.page)]);
  await phone.context.close();
  const { context, page } = await open(browser, file, {});
  const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: false });
  writeFileSync(join(out, name + ".pdf"), pdf);
  const { count, faults } = paper(pdf);
  check(name + ": prints to A4", faults);
  check(name + ": is no larger than a reader can use", await tooLarge(page, file, count));
  await context.close();
}

async function theme(browser, file) {
  const { context, page } = await open(browser, file, { colorScheme: "light" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.locator("#theme").focus();
  await page.keyboard.press("Enter");
  const dark = await paper();
  await page.reload();
  const kept = await paper();
  await page.locator("#theme").click();
  check("the theme is switched, kept, and switched back",
    [light === dark && "nothing changed", kept !== dark && "it was not kept", (await paper()) !== light && "not back"]);
  await context.close();
}

// The values of a column in base units, in the order of the lines, those of a long table that are not shown included.
async function column(table, index) {
  const texts = await table.evaluate((table, index) => Array.from(table.tBodies[0].rows)
    .filter((row) => !row.hidden).map((row) => row.cells[index].textContent), index);
  const factor = { k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  const value = (text) => parseFloat(text) * (factor[/ ([kMGT])/.exec(text)?.[1]] ?? 1);
  return texts.map(value).filter((value) => !Number.isNaN(value));
}

async function sorting(browser, file) {
  const { context, page } = await open(browser, file, {});
  const table = page.locator("section.area table.sortable:has(th:has-text('Measured'))").first();
  const heads = await table.locator("thead th").allTextContents();
  const index = heads.findIndex((head) => head.startsWith("Measured"));
  const head = table.locator("thead th").nth(index);
  const faults = [];
  const before = await column(table, index);
  for (const [wanted, order] of [["descending", (a, b) => b - a], ["ascending", (a, b) => a - b]]) {
    await head.locator("button").focus();
    await page.keyboard.press("Enter");
    const values = await column(table, index);
    if ((await head.getAttribute("aria-sort")) !== wanted) faults.push("aria-sort is not " + wanted);
    if (values.join() !== [...before].sort(order).join()) faults.push(wanted + ": " + values.slice(0, 4).join(" "));
  }
  check("a table is sorted by keyboard", [before.length > 1 ? "" : "no table with figures", ...faults]);
  await context.close();
}

async function filtering(browser) {
  const { context, page } = await open(browser, pages.find((page) => page.includes("whole_classic")), {});
  const field = page.locator(".filter input:visible").first();
  const rows = page.locator(".tabled:has(.filter input:visible)").first().locator("tbody tr");
  const all = await rows.count();
  await field.fill("fp64 plain");
  const shown = await rows.filter({ visible: true }).allTextContents();
  const wrong = shown.filter((text) => !/fp64/i.test(text) || !/plain/i.test(text));
  check("a table is filtered",
    [shown.length === 0 && "nothing left", shown.length === all && "nothing hidden", wrong[0]]);
  await context.close();
}

async function hovering(browser, file) {
  const { context, page, faults } = await open(browser, file, {});
  const chart = page.locator("svg.chart:visible").first();
  const tip = page.locator("#tip");
  await chart.scrollIntoViewIfNeeded();
  const mark = chart.locator(".mark.told").first();
  await mark.hover({ force: true });
  const hovered = await tip.textContent();
  const parts = [["interval, nor that there is none", /±\s*[\d.]+ %|n=[1-5]\b/], ["n", /n=\d+/], ["value", /[\d.]+ [A-Za-z/]+/]];
  const told = (text) => parts.filter(([, part]) => !part.test(text)).map(([name]) => "no " + name + ": " + text);
  check("a mark of a chart tells value, n and interval", [(await tip.isVisible()) ? "" : "no tip", ...told(hovered)]);
  await page.mouse.move(2, 2);
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  const first = await tip.textContent();
  await page.keyboard.press("ArrowRight");
  const second = await tip.textContent();
  const seen = await tip.isVisible();
  await page.keyboard.press("Escape");
  check("the marks can be gone through by keyboard",
    [seen ? "" : "no tip", first === second && "always the same",
      (await tip.isVisible()) && "Escape does not hide it", ...faults]);
  await context.close();
}

async function downloading(browser, file) {
  const { context, page, faults } = await open(browser, file, { acceptDownloads: true });
  const wanted = await page.evaluate(() => document.querySelectorAll("tbody tr[id^=r]").length);
  const link = page.locator("a[data-name='run.json']");
  const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
  const run = JSON.parse(readFileSync(await download.path(), "utf8"));
  check("the data is saved as it was",
    [download.suggestedFilename() === "run.json" ? "" : download.suggestedFilename(),
      run.schema === "assay.run/2" ? "" : "schema " + run.schema,
      run.experiments.length === wanted ? "" : run.experiments.length + " rows, not " + wanted, ...faults]);
  await context.close();
}

async function withoutScripts(browser, file) {
  const { context, page, faults } = await open(browser, file, { javaScriptEnabled: false, acceptDownloads: true });
  const link = page.locator("a[data-name='run.json']");
  const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
  const run = JSON.parse(gunzipSync(readFileSync(await download.path())));
  check("without scripts everything is there to read and to save", [
    (await page.locator("#theme").isVisible()) && "a button without use",
    (await page.locator("section.area > .tabled table").first().isVisible()) ? "" : "no table",
    (await page.locator("svg.chart").first().isVisible()) ? "" : "no chart",
    run.experiments.length > 0 ? "" : "no rows saved", ...faults,
  ]);
  await context.close();
}

async function links(browser, file) {
  const { context, page } = await open(browser, file, {});
  const link = page.locator("#conditions .rowlist a").first();
  await page.locator("#conditions details.entry summary").first().click();
  const target = await link.getAttribute("href");
  await link.click();
  const row = page.locator(target);
  const reached = await row.evaluate((row) => {
    const box = row.getBoundingClientRect();
    return row.matches(":target") && row.checkVisibility() && box.height > 0;
  });
  check("a remark leads to its row", reached ? "" : target + " is not shown");
  await context.close();
}

// What the checks are worth: faults that are planted into a page are found.
async function planted(browser, file) {
  const whole = readFileSync(file, "utf8");
  const faulty = join(out, "planted.html");
  const cases = [
    ["a picture from elsewhere", "<img alt=\"\" src=\"http://127.0.0.1:9/x.png\"><h1>", (opened) => opened.faults],
    ["a script that fails", "<script>nothing.there()</script><h1>", (opened) => opened.faults],
    ["pale text", "<p style=\"color:#ddd;background:#fff\">pale</p><h1>", (opened) => accessibility(opened.page)],
    ["a picture without words", "<img src=\"data:,\"><h1>", (opened) => accessibility(opened.page)],
    ["something wide", "<p style=\"width:3000px\">wide</p><h1>", async (opened) => [await overflow(opened.page)]],
  ];
  for (const [what, markup, find] of cases) {
    writeFileSync(faulty, whole.replace("<h1>", markup).replace("default-src 'none'", "default-src *"));
    const opened = await open(browser, faulty, {});
    const found = (await find(opened)).filter(Boolean);
    check("found where planted: " + what, found.length > 0 ? "" : "not found");
    await opened.context.close();
  }
  const paperless = paper(Buffer.from("%PDF /MediaBox [0 0 612 792]")).faults.filter(Boolean);
  check("found where planted: paper of another size, and none", paperless.length === 2 ? "" : "not found");
}

async function pictures(browser, file) {
  for (const colorScheme of ["light", "dark"]) {
    const { context, page } = await open(browser, file, { colorScheme, viewport: { width: 1280, height: 1600 } });
    await page.screenshot({ path: join(out, "page-" + colorScheme + ".png") });
    await page.locator("section.area").first().screenshot({ path: join(out, "area-" + colorScheme + ".png") });
    await context.close();
  }
  const { context, page } = await open(browser, file, { viewport: PHONE, isMobile: true, deviceScaleFactor: 2 });
  const clip = { x: 0, y: 0, width: 360, height: 2400 };
  await page.screenshot({ path: join(out, "page-phone.png"), clip, fullPage: true });
  await context.close();
}

mkdirSync(out, { recursive: true });
// A sandbox of its own needs rights that root inside a container does not have.
const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
console.log("note Chromium " + browser.version());
try {
  // Two at a time: each page has a process of its own, and two CPUs are the fewest that tests run on.
  const left = [...pages];
  const turn = async () => { while (left.length > 0) await everyPage(browser, left.shift()); };
  await Promise.all([turn(), turn()]);
  // The first page has everything that can be used.
  const first = pages[0];
  const uses = [theme, sorting, filtering, hovering, downloading, withoutScripts, links, planted, pictures];
  for (const use of uses) {
    try {
      await use(browser, first);
    } catch (error) {
      check(use.name, String(error.message).split("\n")[0]);
    }
  }
} finally {
  await browser.close();
}
process.exitCode = failed > 0 ? 1 : 0;
