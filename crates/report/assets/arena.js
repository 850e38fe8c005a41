// Draws the arena: fronts, the heat table, and the table to filter. Everything comes from the JSON block; names are only
// ever set as text.
(() => {
  'use strict';

  const data = JSON.parse(document.getElementById('data').textContent);
  const say = document.getElementById('say');
  const html = document.documentElement;
  // An estimate is [mean, low, high], as on the other pages.
  for (const cell of data.table.cells) {
    for (const system of cell.systems) {
      for (const [key, e] of Object.entries(system.values)) {
        system.values[key] = [e.mean, e.interval ? e.interval.low : null, e.interval ? e.interval.high : null];
      }
    }
  }

  const state = { switched: new Map(), heat: 'goodput', filter: '', order: { key: 'cell', up: true }, log: true };
  const timed = [];
  const plots = [];

  /*common*/

  const { table } = data;
  const measures = new Map(data.measures.map((m) => [m.key, m]));
  const fixed = (value, m) => value.toFixed(m.decimals).replace('-', '−');
  const classes = { sender: 'Senders', vr: 'VR', media: 'Media' };

  // ---- the command behind a number

  const lead = el('div', { id: 'lead', hidden: true, role: 'region', 'aria-label': 'The run behind the number' });
  document.body.append(lead);

  function show(cell, system) {
    const copy = el('button', {
      type: 'button', class: 'quiet',
      onclick: () => navigator.clipboard && navigator.clipboard.writeText(system.command).then(() => { copy.textContent = 'Copied'; }),
    }, 'Copy');
    const parts = [el('strong', {}, `${system.title} in ${cell.name}`), el('code', { tabindex: 0 }, system.command), copy];
    if (data.records) {
      parts.push(el('a', { href: `runs/${cell.name}/${system.name}/report.html` }, 'Report'));
    }
    parts.push(el('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', onclick: () => { lead.hidden = true; } }, '×'));
    lead.replaceChildren(...parts);
    lead.hidden = false;
    say.textContent = `${system.title} in ${cell.name}: ${system.command}`;
  }

  // ---- fronts

  function front(cell) {
    const [ykey, xkey] = cell.front;
    const [y, x] = [measures.get(ykey), measures.get(xkey)];
    const points = cell.systems.filter((s) => s.values[ykey] && s.values[xkey]).map((s) => ({
      label: s.title, controller: s.controller, x: s.values[xkey], y: s.values[ykey],
      samples: s.samples.map(([b, a]) => [a, b]), hollow: s.edge !== 'none',
    }));
    const least = Math.min(...points.map((p) => p.x[0]));
    const log = state.log && least > 0 && Math.max(...points.map((p) => p.x[0])) / least > 4;
    return { x_label: x.label, x_unit: x.unit, y_label: y.label, y_unit: y.unit, points, log };
  }

  function fronts() {
    for (const host of document.querySelectorAll('[data-front]')) {
      const cell = table.cells[+host.dataset.front];
      const trade = front(cell);
      const plot = el('div', { class: 'plot' });
      const log = el('button', {
        type: 'button', class: 'quiet', 'aria-pressed': String(state.log),
        onclick: () => { state.log = !state.log; draw(); },
      }, 'Log');
      const title = `${trade.y_label} against ${trade.x_label}`;
      const saves = el('span', {});
      const node = el('figure', { class: 'box', style: 'margin:0 0 14px' },
        el('figcaption', {}, el('div', { class: 'bar' }, el('h3', {}, title), log, saves,
          el('button', { type: 'button', class: 'quiet', 'aria-label': `Download ${title} of ${cell.name} as CSV`, onclick: () => save(fileName(cell.name), csv(csvOf(cell))) }, 'CSV')),
        el('p', { class: 'help' }, 'Best is high and left; dashed: the Pareto front. Hollow marks have an edge function; small dots are seeds, bars 95 % intervals.')),
        plot);
      saves.replaceWith(saveDrawn(`${title}, ${cell.name}`, node, plot));
      host.replaceChildren(node);
      const width = Math.max(260, plot.clientWidth);
      if (trade.points.length) {
        plot.append(scatter(trade, width, Math.max(340, Math.min(520, 240 + 11 * trade.points.length)), withUnit(trade.x_label, trade.x_unit), withUnit(trade.y_label, trade.y_unit)));
      }
    }
  }

  function csvOf(cell) {
    const keys = data.measures.filter((m) => cell.systems.some((s) => s.values[m.key]));
    return [['cell', 'system', 'edge', ...keys.flatMap((m) => [withUnit(m.label, m.unit), `${m.label} low 95 %`, `${m.label} high 95 %`])],
      ...cell.systems.map((s) => [cell.name, s.name, s.edge, ...keys.flatMap((m) => s.values[m.key] || [null, null, null])])];
  }

  // ---- all cells in one picture: each number over the best of its cell, means over cells

  function hero() {
    const host = document.querySelector('[data-hero]');
    if (!host) return;
    const cells = table.cells.filter((c) => c.front[0] === 'goodput' && c.front[1] === 'delay_p95');
    const sums = new Map();
    for (const cell of cells) {
      const all = cell.systems.filter((s) => s.values.goodput && s.values.delay_p95);
      const most = Math.max(...all.map((s) => s.values.goodput[0]));
      // The least delay of those that send at least half of the most: a sender that starves has no queue.
      const least = Math.min(...all.filter((s) => s.values.goodput[0] >= most / 2).map((s) => s.values.delay_p95[0]));
      for (const s of all) {
        if (!sums.has(s.name)) sums.set(s.name, { s, y: [], x: [] });
        const sum = sums.get(s.name);
        sum.y.push((100 * s.values.goodput[0]) / most);
        sum.x.push(Math.log(Math.max(s.values.delay_p95[0], 0.1) / Math.max(least, 0.1)));
      }
    }
    const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
    const points = [...sums.values()].filter((sum) => sum.x.length >= 0.6 * cells.length).map((sum) => ({
      label: sum.s.title, controller: sum.s.controller, hollow: sum.s.edge !== 'none', samples: [],
      x: [Math.exp(mean(sum.x)), null], y: [mean(sum.y), null],
    }));
    if (points.length < 2) {
      host.closest('section').remove();
      return;
    }
    const trade = { x_label: 'p95 queue delay over the least', x_unit: 'times', y_label: 'goodput over the most', y_unit: '%', points, log: true };
    const plot = el('div', { class: 'plot' });
    const node = el('figure', { style: 'margin:0' },
      el('p', { class: 'help' }, `Senders in ${cells.length} cells: goodput as a share of the most that a system had there (mean over cells), against p95 queue delay as a multiple of the least there (geometric mean; the least of those with half of the most goodput). Hollow marks have an edge function. Dashed: the Pareto front.`),
      plot);
    node.prepend(el('div', { class: 'bar' }, el('span', {}), saveDrawn('Goodput against queue delay over all cells', node, plot)));
    host.replaceChildren(node);
    plot.append(scatter(trade, Math.max(260, plot.clientWidth), 520, withUnit(trade.x_label, trade.x_unit), withUnit(trade.y_label, trade.y_unit)));
  }

  // ---- system by cell

  function heat() {
    const host = document.querySelector('[data-heat]');
    const pick = el('select', { id: 'heat-measure', onchange: () => { state.heat = pick.value; heat(); document.getElementById('heat-measure').focus(); } },
      ...data.measures.filter((m) => table.cells.some((c) => c.systems.some((s) => s.values[m.key])))
        .map((m) => el('option', { value: m.key, selected: m.key === state.heat }, withUnit(m.label, m.unit))));
    const m = measures.get(state.heat);
    const parts = Object.keys(classes).map((kind) => heatOf(kind, m)).filter(Boolean);
    host.replaceChildren(
      el('div', { class: 'tools' }, el('label', {}, 'Measure ', pick)),
      el('p', { class: 'help' }, `${m.help} The greener, the better within its column; bold is the best.`),
      ...parts);
  }

  function heatOf(kind, m) {
    const cells = table.cells.filter((c) => c.class === kind && c.systems.some((s) => s.values[m.key]));
    if (!cells.length) return null;
    const systems = new Map();
    for (const cell of cells) for (const s of cell.systems) if (!systems.has(s.name)) systems.set(s.name, s);
    const sign = m.better === 'lower' ? -1 : 1;
    // Delays and times differ by orders of magnitude: their shades go by the logarithm.
    const shadeOf = cells.map((cell) => {
      const all = cell.systems.flatMap((s) => (s.values[m.key] ? [s.values[m.key][0]] : []));
      const positive = all.every((v) => v > 0);
      const scale = (v) => sign * (positive ? Math.log(v) : v);
      const [low, high] = [Math.min(...all.map(scale)), Math.max(...all.map(scale))];
      return (v) => (high > low ? (scale(v) - low) / (high - low) : 1);
    });
    const rows = [...systems.values()].map((s) => {
      const fields = cells.map((cell, i) => {
        const mine = cell.systems.find((o) => o.name === s.name);
        const value = mine && mine.values[m.key];
        if (!value) return el('td', { class: 'none' }, el('span', { 'aria-label': 'no value' }, ''));
        const share = shadeOf[i](value[0]);
        const name = `${mine.title} in ${cell.name}: ${fixed(value[0], m)}${spread(value, (v) => fixed(v, m))} ${m.unit}`;
        return el('td', { style: `--share:${(share * 100).toFixed(0)}%`, class: share > 0.999 ? 'front' : share < 0.05 ? 'worst' : null },
          el('button', { type: 'button', title: name, 'aria-label': name, onclick: () => show(cell, mine) }, fixed(value[0], m)));
      });
      return el('tr', {}, el('th', { scope: 'row' }, swatchOf(s), s.title), ...fields);
    });
    return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${classes[kind]}, system by cell` },
      el('table', { class: 'heat' },
        el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, classes[kind]), ...cells.map((c) => el('th', { scope: 'col' }, el('a', { href: `#${c.name}`, style: 'color:inherit' }, c.name))))),
        el('tbody', {}, ...rows)));
  }

  function swatchOf(s) {
    const paint = paintOf(s.controller);
    return el('span', { class: 'swatch', style: `--l:${paint.light};--d:${paint.dark}` });
  }

  // ---- every result

  const rowsOf = table.cells.flatMap((cell) => cell.systems.map((s, i) => ({
    cell, system: s, wins: cell.wins.filter((w) => w.winner === i).length, losses: cell.wins.filter((w) => w.loser === i).length,
  })));

  // Words that all must occur, and key>number, key<number.
  function tests(text) {
    return text.split(/\s+/).filter(Boolean).map((word) => {
      const match = /^([^=<>]+)([=<>])(.+)$/.exec(word);
      if (!match) return (r) => `${r.cell.name} ${r.cell.class} ${r.system.name} ${r.system.title} ${r.system.edge}`.toLowerCase().includes(word.toLowerCase());
      const [, key, sign, value] = match;
      return (r) => {
        const named = { cell: r.cell.name, system: r.system.name, edge: r.system.edge, sender: r.system.controller, class: r.cell.class }[key];
        if (named !== undefined) return sign === '=' && named.toLowerCase() === value.toLowerCase();
        const found = { wins: r.wins, losses: r.losses }[key] ?? (r.system.values[key] || [])[0];
        if (found == null) return false;
        return sign === '=' ? found === +value : sign === '>' ? found > +value : found < +value;
      };
    });
  }

  function valueOf(r, key) {
    if (key === 'cell') return r.cell.name;
    if (key === 'system') return r.system.title;
    if (key === 'wins' || key === 'losses') return r[key];
    return (r.system.values[key] || [null])[0];
  }

  function all() {
    const host = document.querySelector('[data-all]');
    const filter = el('input', { type: 'search', id: 'filter', placeholder: 'cubic edge=vaqm delay_p95<50', 'aria-label': 'Filter', autocomplete: 'off', spellcheck: 'false', value: state.filter });
    const count = el('span', { role: 'status', 'aria-live': 'polite' });
    const body = el('tbody', {});
    const shown = data.measures.filter((m) => rowsOf.some((r) => r.system.values[m.key]));
    const heads = [['cell', 'Cell', '', 'Name of the cell', true], ['system', 'System', '', 'Sender and edge function', true],
      ['wins', 'dominates', '', 'Systems of the cell that it dominates', false], ['losses', 'dominated by', '', 'Systems of the cell that dominate it', false],
      ...shown.map((m) => [m.key, m.label, m.unit, `${m.key}: ${m.help}`, false])];
    const headRow = el('tr', {});
    for (const [key, name, unit, help, words] of heads) {
      const th = el('th', { scope: 'col', class: words ? 'words' : null });
      th.append(el('button', {
        type: 'button', title: help,
        onclick: () => {
          state.order = { key, up: state.order.key === key ? !state.order.up : words || (measures.get(key) || {}).better === 'lower' };
          fill();
        },
      }, el('span', { class: 'name' }, name), el('span', { class: 'unit' }, unit)));
      th.dataset.key = key;
      headRow.append(th);
    }
    headRow.append(el('th', { scope: 'col' }, el('span', { class: 'unit' }, 'Run')));
    function fill() {
      const wanted = tests(state.filter);
      const { key, up } = state.order;
      const kept = rowsOf.filter((r) => wanted.every((t) => t(r))).sort((a, b) => {
        const [x, y] = [valueOf(a, key), valueOf(b, key)];
        if (x == null || y == null) return (x == null) - (y == null);
        const order = typeof x === 'string' ? table.cells.indexOf(a.cell) - table.cells.indexOf(b.cell) || 0 : x - y;
        const by = key === 'system' ? x.localeCompare(y, 'en', { numeric: true }) : order;
        return up ? by : -by;
      });
      for (const th of headRow.children) {
        if (th.dataset.key === key) th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        else th.removeAttribute('aria-sort');
      }
      body.replaceChildren(...kept.map((r) => el('tr', {},
        el('th', { scope: 'row', class: 'words' }, r.cell.name),
        el('td', { class: 'words' }, swatchOf(r.system), r.system.title, r.system.on_front ? ' ★' : ''),
        el('td', {}, String(r.wins)), el('td', {}, String(r.losses)),
        ...shown.map((m) => {
          const value = r.system.values[m.key];
          if (!value) return el('td', { class: 'none' }, '–');
          return el('td', {}, fixed(value[0], m), el('span', { class: 'pm' }, spread(value, (v) => fixed(v, m))));
        }),
        el('td', {}, el('button', { type: 'button', class: 'quiet', 'aria-label': `The run of ${r.system.title} in ${r.cell.name}`, onclick: () => show(r.cell, r.system) }, '▸')))));
      count.textContent = `${kept.length} of ${rowsOf.length} results; ★ on the front`;
    }
    filter.addEventListener('input', () => { state.filter = filter.value; fill(); });
    host.replaceChildren(
      el('div', { class: 'tools' }, el('label', {}, 'Filter ', filter), count,
        el('button', { type: 'button', class: 'quiet', onclick: () => save('arena.csv', csv(table.cells.flatMap((c) => csvOf(c)))) }, 'CSV')),
      el('p', { class: 'help' }, 'Words filter by cell, system and class; cell=, system=, edge=, sender= by name; key<n and key>n by a measure.'),
      el('div', { class: 'wide-scroll', tabindex: 0, role: 'region', 'aria-label': 'Every result' }, el('table', { class: 'all' }, el('thead', {}, headRow), body)));
    fill();
  }

  function draw() {
    const { scrollY } = window;
    hero();
    fronts();
    heat();
    window.scrollTo({ top: scrollY, behavior: 'instant' });
  }

  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    hero();
    fronts();
  }).observe(document.body);

  theme();
  tables();
  all();
  draw();
})();
