// Draws the plots of a report. Everything comes from the JSON block; names are only ever set as text.
(() => {
  'use strict';

  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.getElementById('plots');
  const say = document.getElementById('say');
  const html = document.documentElement;
  const isArray = Array.isArray;

  const state = {
    shown: new Set(data.runs.flatMap((run, i) => (run.shown ? [i] : []))),
    switched: new Map(), // curve key -> drawn or not, once the reader has chosen
    log: new Set(), // plots on a logarithmic axis
    sides: new Set(), // crowded plots that draw their side curves all the same
    x: null, // zoomed range of time in seconds
    shade: null, // key of the lane whose states tint the plots; null: choose by itself
  };
  let plots = []; // every uPlot on the page
  let timed = []; // those over time
  let full = [0, 1]; // all of time that the shown runs cover

  // ---- small helpers

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, '');
      else if (value !== false && value != null) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child != null));
    return node;
  }

  function shape(tag, attributes, ...children) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const darkWanted = matchMedia('(prefers-color-scheme: dark)');
  const dark = () => (html.dataset.theme ? html.dataset.theme === 'dark' : darkWanted.matches);
  const hue = (paint) => (dark() ? paint.dark : paint.light);
  const paintOf = (controller) => data.controllers[controller] || data.link;

  const probe = el('span', { hidden: true });
  document.body.append(probe);
  function css(name) {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  }

  function mix(hex, other, share) {
    const at = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
    const part = (i) => Math.round(at(hex, i) * (1 - share) + at(other, i) * share);
    return `rgb(${part(0)} ${part(1)} ${part(2)})`;
  }

  function fmt(value) {
    if (value == null || !isFinite(value)) return '–';
    const size = Math.abs(value);
    if (size !== 0 && (size < 0.001 || size >= 1e7)) return value.toExponential(2);
    const places = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
    return value.toFixed(places).replace('-', '−');
  }

  function fmtTick(value) {
    if (value == null) return null;
    const size = Math.abs(value);
    const short = (v) => String(+v.toPrecision(6));
    if (size >= 1e6) return `${short(value / 1e6)}M`;
    if (size >= 1e4) return `${short(value / 1e3)}k`;
    return short(value);
  }

  const withUnit = (text, unit) => (unit ? `${text} (${unit})` : text);

  const columns = [];
  function column(index) {
    if (columns[index]) return columns[index];
    const packed = data.columns[index];
    let values;
    if (isArray(packed)) values = packed;
    else {
      const decimals = Math.round(-Math.log10(packed.q));
      const scale = 10 ** decimals;
      let sum = 0;
      values = packed.d
        ? packed.d.map((step) => (sum += step) / scale)
        : Array.from({ length: packed.n }, (_, i) => (packed.a + i * packed.s) / scale);
    }
    return (columns[index] = values);
  }

  // ---- files

  function save(name, text) {
    const link = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'text/csv' })), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // A spreadsheet must not take a name for a formula.
  function csvCell(value) {
    if (value == null) return '';
    if (typeof value === 'number') return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  const csv = (rows) => rows.map((row) => row.map(csvCell).join(',')).join('\r\n') + '\r\n';
  const fileName = (title) => `${title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'plot'}.csv`;

  // ---- tables

  function tables() {
    for (const button of document.querySelectorAll('[data-csv-table]')) {
      const table = document.getElementById(`data-table${button.dataset.csvTable}`);
      button.hidden = false;
      button.setAttribute('aria-label', 'Download this table as CSV');
      button.onclick = () => save('summary.csv', csv(tableRows(table)));
    }
    for (const table of document.querySelectorAll('table.summary')) {
      [...table.tHead.rows[0].cells].forEach((cell, at) => sortable(table, cell, at));
    }
  }

  function tableRows(table) {
    const heads = [...table.tHead.rows[0].cells].flatMap((cell) => {
      const name = (cell.querySelector('.name') || cell).textContent;
      const title = withUnit(name, cell.dataset.unit);
      return cell.dataset.sort === 'number' ? [title, `${title} ± 95 %`] : [title];
    });
    const body = [...table.tBodies[0].rows].map((row) =>
      [...row.cells].flatMap((cell, i) => {
        if (i === 0) return [cell.textContent];
        if (cell.dataset.v == null) return [cell.classList.contains('none') ? null : cell.textContent, null];
        return [+cell.dataset.v, cell.dataset.h == null ? null : +cell.dataset.h];
      }));
    return [heads, ...body];
  }

  function sortable(table, cell, at) {
    const button = el('button', { type: 'button' });
    button.append(...cell.childNodes);
    cell.append(button);
    button.onclick = () => {
      const up = cell.getAttribute('aria-sort') !== 'ascending';
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const value = (row) => {
        const { v } = row.cells[at].dataset;
        return v == null ? null : +v;
      };
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x == null && y == null) {
          const order = a.cells[at].textContent.localeCompare(b.cells[at].textContent, 'en', { numeric: true });
          return up ? order : -order;
        }
        if (x == null || y == null) return x == null ? 1 : -1;
        return up ? x - y : y - x;
      });
      table.tBodies[0].append(...rows);
    };
  }

  // ---- which runs

  function picker() {
    if (data.runs.length < 2) return null;
    const sets = new Map();
    data.runs.forEach((run, i) => {
      const key = [...new Set(run.controllers)].join(' + ') || run.label;
      sets.set(key, [...(sets.get(key) || []), i]);
    });
    const field = el('fieldset', { class: 'picker' }, el('legend', { class: 'unseen' }, 'Runs drawn in the plots'));
    const choose = (runs) => {
      state.shown = new Set(runs);
      for (const box of field.querySelectorAll('input')) box.checked = state.shown.has(+box.value);
      draw();
    };
    for (const [name, runs] of sets) {
      const seeds = new Set(runs.map((i) => data.runs[i].seed));
      const bySeed = runs.length > 1 && seeds.size === runs.length && !seeds.has(null);
      const row = el('div', { class: 'set', role: 'group', 'aria-label': name });
      for (const controller of new Set(data.runs[runs[0]].controllers)) row.append(swatch(controller));
      if (runs.length > 1) row.append(el('b', {}, name), bySeed ? el('span', { class: 'word' }, 'seed') : '');
      for (const i of runs) {
        const run = data.runs[i];
        const box = el('input', { type: 'checkbox', value: i, 'aria-label': run.label });
        box.checked = state.shown.has(i);
        box.onchange = () => {
          if (box.checked) state.shown.add(i);
          else state.shown.delete(i);
          draw();
        };
        row.append(el('label', { title: run.name }, box, runs.length > 1 && bySeed ? String(run.seed) : run.label));
      }
      field.append(row);
    }
    const firsts = [...sets.values()].map((runs) => runs[0]);
    const button = (text, runs) => el('button', { type: 'button', class: 'quiet', onclick: () => choose(runs) }, text);
    return el('section', { class: 'box', 'aria-label': 'Runs drawn' },
      el('div', { class: 'bar' }, el('h2', {}, 'Runs drawn'),
        button('First of each', firsts), button('All', data.runs.keys()), button('None', [])),
      field);
  }

  function swatch(controller) {
    const paint = paintOf(controller);
    return el('span', { class: 'swatch', style: `--l:${paint.light};--d:${paint.dark};margin:0` });
  }

  // ---- curves: what the shown runs put into a plot

  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

  // The n-th flow or run of one controller: same hue, other shade and dash.
  function style(controller, n) {
    const base = hue(paintOf(controller));
    const shades = [base, mix(base, dark() ? '#14181d' : '#ffffff', 0.36), mix(base, dark() ? '#ffffff' : '#000000', 0.4)];
    return { stroke: shades[n % 3], dash: DASHES[n % 4] };
  }

  // Where more than two main curves are drawn, side curves (ssthresh, head of line) wait for the reader's word.
  function curvesOf(panel, withSides) {
    const many = state.shown.size > 1;
    const counts = new Map();
    const places = new Map();
    const areas = new Set();
    const curves = [];
    for (const r of state.shown) {
      const run = data.runs[r];
      const mine = run.series.filter((series) => series.panel === panel);
      const mains = mine.filter((series) => series.role === 'main').length;
      for (const series of mine) {
        if (series.role === 'area') {
          const same = `${series.t}|${series.y}`;
          if (areas.has(same)) continue;
          areas.add(same);
        }
        const flow = `${r}|${series.controller}|${series.label}`;
        if (!places.has(flow)) {
          const n = counts.get(series.controller) || 0;
          counts.set(series.controller, n + 1);
          places.set(flow, n);
        }
        curves.push({
          key: `${panel}|${run.name}|${series.id}`,
          run: r, series, role: series.role, mains,
          controller: series.controller,
          place: places.get(flow),
          x: column(series.t), y: column(series.y),
        });
      }
    }
    const mains = curves.filter((curve) => curve.role === 'main').length;
    const areaCount = areas.size;
    let areaSeen = 0;
    for (const curve of curves) {
      const { series } = curve;
      const run = data.runs[curve.run];
      if (curve.role === 'side' && !mains) curve.role = 'main';
      const side = curve.role === 'side' || (curve.role === 'main' && !mains);
      let label = many ? run.label : series.label;
      if (many && (curve.mains > 1 || (!series.controller && curve.role !== 'area'))) label += ` · ${series.label}`;
      if (side && series.name && !label.includes(series.name)) label += ` · ${series.name}`;
      if (curve.role === 'area') {
        label = areaCount > 1 ? `${run.label} · ${series.label}` : series.label;
        curve.first = areaSeen++ === 0;
      }
      curve.label = label;
      curve.waits = (curve.role === 'side' && mains > 2) || (curve.role === 'area' && !curve.first);
      curve.show = !state.switched.has(curve.key) || state.switched.get(curve.key);
    }
    const rank = (curve) => ['area', 'main', 'side'].indexOf(curve.role);
    const waiting = [...new Set(curves.filter((curve) => curve.waits).map((curve) => curve.series.name))];
    return {
      curves: curves.filter((curve) => withSides || !curve.waits).sort((a, b) => rank(a) - rank(b)),
      waiting: waiting.join(', '),
    };
  }

  function lineOf(curve) {
    const common = { label: curve.label, show: curve.show, points: { show: false }, pxAlign: 0 };
    if (curve.role === 'area') {
      const grey = hue(data.link);
      return { ...common, stroke: grey, width: 1, fill: curve.first ? `${grey}2e` : undefined, paths: uPlot.paths.stepped({ align: 1 }) };
    }
    const look = style(curve.controller, curve.place);
    const thin = curve.role === 'side';
    const single = curve.x.length < 3;
    return {
      ...common, stroke: look.stroke, width: thin ? 1 : 1.6, dash: thin ? [2, 3] : look.dash, alpha: thin ? 0.85 : 1,
      points: { show: single, size: 5 },
    };
  }

  // ---- plots

  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

  function axes(xLabel, yLabel, more) {
    const common = {
      stroke: css('--dim'), font, labelFont: font, labelSize: 20, labelGap: 2,
      grid: { stroke: css('--grid'), width: 1 }, ticks: { stroke: css('--line'), width: 1, size: 4 },
    };
    const values = (u, splits) => splits.map(fmtTick);
    return [
      { ...common, label: xLabel, size: 28, values },
      { ...common, label: yLabel, size: 50, values, ...more },
    ];
  }

  function joined(curves, span) {
    if (!curves.length) return [[]];
    const rows = uPlot.join(curves.map((curve) => [curve.x, curve.y]));
    if (span) {
      const last = rows[0].length - 1;
      if (rows[0][0] > span[0]) rows.forEach((row, i) => row.unshift(i ? undefined : span[0]));
      if (rows[0][rows[0].length - 1] < span[1]) rows.forEach((row, i) => row.push(i ? undefined : span[1]));
      if (last < 0) return [[]];
    }
    return rows;
  }

  function swatchLine(series) {
    const line = shape('svg', { width: 22, height: 10, 'aria-hidden': 'true' });
    if (series.fill) line.append(shape('rect', { x: 0, y: 0, width: 22, height: 10, fill: series.fill }));
    line.append(shape('line', {
      x1: 0, x2: 22, y1: series.fill ? 1 : 5, y2: series.fill ? 1 : 5,
      stroke: series.stroke, 'stroke-width': series.width + 0.8, 'stroke-dasharray': (series.dash || []).join(' '),
    }));
    return line;
  }

  // A figure with a legend, a plot and what belongs to them. `spec`: title, help, unit, curves, options, csv, stats, time.
  function figure(spec) {
    const keys = el('div', { class: 'keys', role: 'group', 'aria-label': `Curves of ${spec.title}` });
    const plotHost = el('div', {
      class: 'plot', tabindex: 0, role: 'group', 'aria-roledescription': 'plot',
      'aria-label': `${spec.title}: ${spec.curves.map((curve) => curve.label).join(', ')}. Arrow keys read values, plus and minus zoom, 0 shows all.`,
    });
    const figureNode = el('figure', { class: 'box', style: 'margin-left:0;margin-right:0' },
      el('figcaption', {},
        el('div', { class: 'bar' }, el('h3', {}, spec.title), ...(spec.buttons || []),
          el('button', {
            type: 'button', class: 'quiet', 'aria-label': `Download ${spec.title} as CSV`,
            onclick: () => save(fileName(spec.title), csv(spec.csv())),
          }, 'CSV')),
        spec.help ? el('p', { class: 'help' }, spec.help) : null),
      keys, plotHost, spec.stats ? numbers(spec) : null);

    return {
      node: figureNode,
      start() {
        const lines = spec.curves.map(spec.line);
        const outputs = [];
        const width = () => Math.max(200, plotHost.clientWidth);
        const options = {
          width: width(), height: spec.height, legend: { show: false }, focus: { alpha: 0.3 },
          padding: [8, 12, 0, 0],
          ...spec.options, series: [{}, ...lines],
        };
        const hooks = options.hooks || {};
        options.hooks = {
          ...hooks,
          setCursor: [...(hooks.setCursor || []), (u) => {
            spec.curves.forEach((curve, i) => {
              const at = u.cursor.left < 0 ? null : u.cursor.idxs[i + 1];
              outputs[i].textContent = at == null ? '' : fmt(u.data[i + 1][at]);
            });
          }],
          setSeries: [(u, index, change) => {
            if (change && change.focus != null) {
              [...keys.children].forEach((key, i) => key.classList.toggle('focus', index === i + 1 && change.focus));
            }
          }],
        };
        const u = new uPlot(options, spec.data, plotHost);
        plots.push(u);
        spec.curves.forEach((curve, i) => {
          const output = el('output', {});
          outputs.push(output);
          const key = el('button', {
            type: 'button', class: 'key', 'aria-pressed': String(curve.show), title: 'Click: hide or show. Shift-click: only this one.',
          }, swatchLine(lines[i]), el('span', {}, curve.label), output);
          key.onclick = (event) => {
            const change = (j, show) => {
              u.setSeries(j + 1, { show });
              state.switched.set(spec.curves[j].key, show);
              keys.children[j].setAttribute('aria-pressed', String(show));
            };
            if (event.shiftKey) {
              const alone = u.series.every((line, j) => j === 0 || line.show === (j === i + 1));
              spec.curves.forEach((_, j) => change(j, alone || j === i));
            } else change(i, !u.series[i + 1].show);
          };
          keys.append(key);
        });
        new ResizeObserver(() => {
          if (plots.includes(u) && width() !== u.width) u.setSize({ width: width(), height: spec.height });
        }).observe(plotHost);
        keyboard(plotHost, u, spec);
        return u;
      },
    };
  }

  function numbers(spec) {
    const details = el('details', { class: 'numbers' }, el('summary', {}, 'Numbers'));
    details.addEventListener('toggle', () => {
      if (details.childElementCount > 1) return;
      const head = ['Curve', 'Minimum', 'Mean of samples', 'Maximum', 'Samples'];
      const body = spec.stats().map(([name, ...values]) => el('tr', {}, el('th', { scope: 'row' }, name),
        ...values.map((value, i) => el('td', {}, i === 3 ? String(value) : fmt(value)))));
      details.append(el('div', { class: 'scroll', tabindex: 0 }, el('table', { 'aria-label': `${spec.title}, numbers` },
        el('thead', {}, el('tr', {}, ...head.map((text, i) =>
          el('th', { scope: 'col' }, i && i < 4 ? withUnit(text, spec.unit) : text)))),
        el('tbody', {}, ...body))));
    });
    return details;
  }

  function keyboard(host, u, spec) {
    const group = () => (spec.time ? timed : [u]);
    let speaking;
    const x = () => {
      const { min, max } = u.scales.x;
      const { left } = u.cursor;
      return left < 0 || left == null ? (min + max) / 2 : u.posToVal(left, 'x');
    };
    const point = (value) => {
      const { min, max } = u.scales.x;
      const to = Math.min(max, Math.max(min, value));
      for (const plot of group()) plot.setCursor({ left: plot.valToPos(to, 'x'), top: plot.over.clientHeight / 2 });
      clearTimeout(speaking);
      speaking = setTimeout(() => {
        const values = spec.curves.flatMap((curve, i) => {
          const at = u.cursor.idxs[i + 1];
          return u.series[i + 1].show && at != null ? [`${curve.label} ${fmt(u.data[i + 1][at])} ${spec.unit || ''}`] : [];
        });
        say.textContent = `${spec.xName} ${fmt(to)} ${spec.xUnit}: ${values.join('; ')}`;
      }, 250);
    };
    const zoom = (factor) => {
      const { min, max } = u.scales.x;
      const [low, high] = spec.range();
      const at = x();
      const span = [Math.max(low, at - (at - min) * factor), Math.min(high, at + (max - at) * factor)];
      for (const plot of group()) plot.setScale('x', { min: span[0], max: span[1] });
    };
    const step = (event) => ((u.scales.x.max - u.scales.x.min) / 200) * (event.shiftKey ? 10 : 1);
    const keys = {
      ArrowLeft: (event) => point(x() - step(event)),
      ArrowRight: (event) => point(x() + step(event)),
      Home: () => point(u.scales.x.min),
      End: () => point(u.scales.x.max),
      '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6),
      0: () => {
        const [min, max] = spec.range();
        for (const plot of group()) plot.setScale('x', { min, max });
      },
    };
    host.addEventListener('keydown', (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act(event);
    });
  }

  function toggle(set, id, text) {
    const on = set.has(id);
    return el('button', {
      type: 'button', class: 'quiet', 'aria-pressed': String(on), 'data-toggle': `${text}|${id}`,
      onclick: () => {
        if (on) set.delete(id);
        else set.add(id);
        draw();
        const again = [...charts.querySelectorAll('[data-toggle]')].find((other) => other.dataset.toggle === `${text}|${id}`);
        if (again) again.focus({ preventScroll: true });
      },
    }, text);
  }

  function yScale(log) {
    if (log) return { distr: 3, range: (u, low, high) => (high > 0 ? uPlot.rangeLog(Math.max(low, high / 1e4), high, 10, true) : [0.1, 1]) };
    return {
      range: (u, low, high) => {
        if (low == null) return [0, 1];
        if (low < 0) return uPlot.rangeNum(low, high, 0.1, true);
        return [0, high > 0 ? high * 1.06 : 1];
      },
    };
  }

  function timePlot(panel, at) {
    const id = `${panel.id}|${panel.unit}`;
    const { curves, waiting } = curvesOf(at, state.sides.has(id));
    if (!curves.length) return null;
    const log = state.log.has(id);
    const foot = ['queue', 'cwnd'].includes(panel.id) && lanes().some((lane) => lane.ticks.length);
    return figure({
      title: panel.title, unit: panel.unit, time: true, xName: 'time', xUnit: 's',
      help: panel.help + (foot ? ' Ticks at the foot: drops (tall), marks (short), in the colour of the controller.' : ''),
      curves, line: lineOf, data: joined(curves, full), height: 230, range: () => full,
      buttons: [waiting ? toggle(state.sides, id, `+ ${waiting}`) : null, toggle(state.log, id, 'Log')],
      options: {
        cursor: timeCursor(),
        scales: { x: timeScale(), y: yScale(log) },
        axes: axes('Time (s)', withUnit(panel.axis, panel.unit)),
        hooks: { ...timeHooks(), ...(foot ? { draw: [footTicks] } : {}) },
      },
      csv: () => [['run', 'curve', 'controller', 'quantity', 'unit', 'time_s', 'value'],
        ...curves.flatMap(({ run, series, x, y }) => x.map((t, i) =>
          [data.runs[run].name, series.label, series.controller, series.name || panel.title, series.unit, t, y[i]]))],
      stats: () => curves.map(({ label, series }) => [label, ...(series.stats || [null, null, null]), series.n]),
    });
  }

  const timeCursor = () => ({
    sync: { key: 'time', scales: ['x', null], setSeries: false },
    focus: { prox: 24 }, drag: { x: true, y: false }, points: { size: 6 }, y: false,
  });
  const timeScale = () => ({ time: false, range: (u, low, high) => (low == null ? full : [low, high]) });

  function timeHooks() {
    return {
      drawClear: [tint],
      setScale: [(u, key) => {
        if (key !== 'x') return;
        const { min, max } = u.scales.x;
        state.x = min <= full[0] && max >= full[1] ? null : [min, max];
        clock();
      }],
      setCursor: [(u) => {
        if (u.cursor.left >= 0) clock(u.posToVal(u.cursor.left, 'x'));
        else clock();
      }],
    };
  }

  let readout = null;
  function clock(t) {
    if (!readout) return;
    if (t != null) readout.textContent = `t = ${t.toFixed(3)} s`;
    else readout.textContent = state.x ? `${fmt(state.x[0])} to ${fmt(state.x[1])} s` : '';
  }

  // ---- lanes: states and events of one flow each

  const KINDS = {
    drop: { name: 'drop', light: '#c4163f', dark: '#ff6b86' },
    mark: { name: 'CE mark', light: '#b37400', dark: '#ffc04d' },
    retransmission: { name: 'retransmission', light: '#7a4b9e', dark: '#c9a2ff' },
    timeout: { name: 'timeout', light: '#1a1d21', dark: '#ffffff' },
    handover: { name: 'handover', light: '#0072b2', dark: '#6ab7ff' },
  };

  let laneCache = null;
  function lanes() {
    if (laneCache) return laneCache;
    const found = new Map();
    const many = state.shown.size > 1;
    for (const r of state.shown) {
      const run = data.runs[r];
      const flows = new Set([...run.bands, ...run.events].map((track) => track.label)).size;
      const lane = (track) => {
        const key = `${run.name}|${track.label}`;
        if (!found.has(key)) {
          const label = many ? run.label + (flows > 1 ? ` · ${track.label}` : '') : track.label;
          found.set(key, { key, label, run: run.name, controller: track.controller, bands: [], ticks: [] });
        }
        return found.get(key);
      };
      for (const track of run.bands) lane(track).bands.push(...track.bands.map(([n, a, b]) => ({ name: track.names[n], a, b })));
      for (const track of run.events) lane(track).ticks.push({ kind: track.kind, n: track.n, t: column(track.t) });
    }
    return (laneCache = [...found.values()]);
  }

  function shaded() {
    const striped = lanes().filter((lane) => lane.bands.length);
    if (state.shade != null) return striped.find((lane) => lane.key === state.shade);
    return striped.length === 1 && state.shown.size === 1 ? striped[0] : undefined;
  }

  const stateHue = (name) => hue(data.states[name]);

  function clipped(u, paint) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
    paint(ctx, bbox, devicePixelRatio);
    ctx.restore();
  }

  function tint(u) {
    const lane = shaded();
    if (!lane) return;
    clipped(u, (ctx, box) => {
      ctx.globalAlpha = dark() ? 0.2 : 0.15;
      for (const { name, a, b } of lane.bands) {
        const x = u.valToPos(a, 'x', true);
        ctx.fillStyle = stateHue(name);
        ctx.fillRect(x, box.top, u.valToPos(b, 'x', true) - x, box.height);
      }
    });
  }

  function footTicks(u) {
    clipped(u, (ctx, box, ratio) => {
      ctx.lineWidth = ratio;
      ctx.globalAlpha = 0.75;
      for (const lane of lanes()) {
        ctx.strokeStyle = hue(paintOf(lane.controller));
        for (const { kind, t } of lane.ticks) {
          if (kind !== 'drop' && kind !== 'mark') continue;
          const height = (kind === 'drop' ? 9 : 5) * ratio;
          ctx.beginPath();
          for (const time of t) {
            const x = u.valToPos(time, 'x', true);
            ctx.moveTo(x, box.top + box.height);
            ctx.lineTo(x, box.top + box.height - height);
          }
          ctx.stroke();
        }
      }
    });
  }

  const LANE = 34;
  const MOST_LANES = 24;

  function lanePlot() {
    const all = lanes();
    if (!all.length) return null;
    const drawn = all.slice(0, MOST_LANES);
    const marker = (color, tall) => {
      const box = shape('svg', { width: 14, height: 12, 'aria-hidden': 'true' });
      box.append(shape('rect', tall ? { x: 6, y: 0, width: 2.5, height: 12, fill: color } : { x: 0, y: 1, width: 14, height: 10, rx: 2, fill: color }));
      return box;
    };
    const names = [...new Set(drawn.flatMap((lane) => lane.bands.map((band) => band.name)))];
    const kinds = Object.keys(KINDS).filter((kind) => drawn.some((lane) => lane.ticks.some((tick) => tick.kind === kind)));
    const readings = el('p', { class: 'help', style: 'min-height:1.5em' });
    const draw = (u) => clipped(u, (ctx, box, ratio) => {
      ctx.font = `${11 * ratio}px system-ui, sans-serif`;
      ctx.textAlign = 'left';
      ctx.textBaseline = 'top';
      drawn.forEach((lane, row) => {
        const top = box.top + row * LANE * ratio;
        ctx.fillStyle = css('--line');
        if (row) ctx.fillRect(box.left, top, box.width, ratio);
        for (const { name, a, b } of lane.bands) {
          const x = u.valToPos(a, 'x', true);
          ctx.fillStyle = stateHue(name);
          ctx.fillRect(x, top + 16 * ratio, Math.max(ratio, u.valToPos(b, 'x', true) - x), 9 * ratio);
        }
        for (const { kind, t } of lane.ticks) {
          ctx.fillStyle = hue(KINDS[kind]);
          const y = top + (lane.bands.length ? 27 : 17) * ratio;
          const height = (lane.bands.length ? 6 : 14) * ratio;
          for (const time of t) ctx.fillRect(u.valToPos(time, 'x', true) - ratio / 2, y, ratio, height);
        }
        ctx.fillStyle = hue(paintOf(lane.controller));
        ctx.fillRect(box.left + 2 * ratio, top + 4 * ratio, 8 * ratio, 8 * ratio);
        const counts = lane.ticks.map(({ kind, n }) => `${n} ${KINDS[kind].name}${n === 1 ? '' : 's'}`).join(', ');
        ctx.fillStyle = css('--ink');
        ctx.fillText(lane.label, box.left + 14 * ratio, top + 3 * ratio);
        const width = ctx.measureText(lane.label).width;
        ctx.fillStyle = css('--dim');
        ctx.fillText(counts, box.left + width + 26 * ratio, top + 3 * ratio);
      });
    });
    const hooks = timeHooks();
    hooks.draw = [draw];
    hooks.setCursor.push((u) => {
      if (u.cursor.left < 0) {
        readings.textContent = all.length > drawn.length ? `The first ${drawn.length} of ${all.length} flows.` : '';
        return;
      }
      const t = u.posToVal(u.cursor.left, 'x');
      readings.textContent = drawn.flatMap((lane) => {
        const band = lane.bands.find(({ a, b }) => a <= t && t < b);
        return band ? [`${lane.label}: ${band.name}`] : [];
      }).join('; ');
    });
    const made = figure({
      title: names.length ? 'States and events' : 'Events', unit: '', time: true, xName: 'time', xUnit: 's',
      help: names.length ? 'Which state each controller was in, and what happened to its packets.' : 'What happened to the packets of each flow.',
      curves: [], line: () => ({}), data: [[...full], [null, null]], height: 52 + drawn.length * LANE, range: () => full,
      options: {
        cursor: { ...timeCursor(), points: { show: false }, focus: { prox: -1 } },
        scales: { x: timeScale(), y: { range: [0, 1] } },
        axes: axes('Time (s)', '', { values: (u, splits) => splits.map(() => ''), grid: { show: false }, ticks: { show: false } }),
        hooks,
      },
      csv: () => [['run', 'flow', 'controller', 'what', 'start_s', 'end_s'],
        ...all.flatMap((lane) => [
          ...lane.bands.map(({ name, a, b }) => [lane.run, lane.label, lane.controller, name, a, b]),
          ...lane.ticks.flatMap(({ kind, t }) => t.map((time) => [lane.run, lane.label, lane.controller, kind, time, time])),
        ])],
    });
    made.node.querySelector('.keys').append(
      ...names.map((name) => el('span', { class: 'key' }, marker(stateHue(name)), name)),
      ...kinds.map((kind) => el('span', { class: 'key' }, marker(hue(KINDS[kind]), true), KINDS[kind].name)));
    made.node.append(readings);
    return made;
  }

  // ---- distributions

  function cdfPlots() {
    const groups = new Map();
    const many = state.shown.size > 1;
    const counts = new Map();
    for (const r of state.shown) {
      const run = data.runs[r];
      run.cdfs.forEach((cdf, i) => {
        const id = `${cdf.quantity}|${cdf.unit}`;
        if (!groups.has(id)) groups.set(id, []);
        const flows = run.cdfs.filter((other) => other.quantity === cdf.quantity).length;
        const seen = `${id}|${cdf.controller}`;
        const place = counts.get(seen) || 0;
        counts.set(seen, place + 1);
        const key = `cdf|${run.name}|${i}`;
        groups.get(id).push({
          key, cdf, run: r, role: 'main', controller: cdf.controller, place,
          label: many ? run.label + (flows > 1 ? ` · ${cdf.label}` : '') : cdf.label,
          show: !state.switched.has(key) || state.switched.get(key),
        });
      });
    }
    return [...groups].map(([id, curves]) => cdfPlot(id, curves));
  }

  function cdfPlot(id, curves) {
    const { quantity, unit } = curves[0].cdf;
    const wide = `x|${id}`;
    const tail = `tail|${id}`;
    const log = state.log.has(wide);
    const upper = state.log.has(tail);
    for (const curve of curves) {
      const p = column(curve.cdf.p);
      curve.x = column(curve.cdf.x);
      curve.y = p.map((share) => (upper ? (share < 1 ? 100 * (1 - share) : null) : 100 * share));
      if (log) {
        const keep = curve.x.map((value) => value > 0);
        curve.x = curve.x.filter((_, i) => keep[i]);
        curve.y = curve.y.filter((_, i) => keep[i]);
      }
    }
    const values = curves.flatMap((curve) => (curve.x.length ? [curve.x[0], curve.x[curve.x.length - 1]] : []));
    const range = [log ? Math.min(...values) : Math.min(0, ...values), Math.max(...values)];
    const guide = (u) => clipped(u, (ctx, box, ratio) => {
      const y = u.valToPos(upper ? 5 : 95, 'y', true);
      ctx.strokeStyle = css('--dim');
      ctx.setLineDash([4 * ratio, 4 * ratio]);
      ctx.lineWidth = ratio;
      ctx.beginPath();
      ctx.moveTo(box.left, y);
      ctx.lineTo(box.left + box.width, y);
      ctx.stroke();
      ctx.fillStyle = css('--dim');
      ctx.font = `${11 * ratio}px system-ui, sans-serif`;
      ctx.textAlign = 'right';
      ctx.textBaseline = 'alphabetic';
      ctx.fillText('95 %', box.left + box.width - 4 * ratio, y + 13 * ratio);
    });
    const yAxis = upper
      ? { distr: 3, range: (u, low, high) => uPlot.rangeLog(Math.max(low || 0.001, 0.0001), Math.max(100, high || 100), 10, true) }
      : { range: [0, 100] };
    return figure({
      title: `${quantity}: distribution`, unit: '%', xName: quantity, xUnit: unit,
      help: upper ? 'Share of packets above a value; the lower, the better.' : 'Share of packets at or below a value; the further left, the better.',
      curves, line: (curve) => ({ ...lineOf(curve), paths: uPlot.paths.stepped({ align: 1 }) }),
      data: joined(curves), height: 300, range: () => range,
      buttons: [toggle(state.log, wide, 'Log x'), toggle(state.log, tail, 'Tail')],
      options: {
        cursor: { focus: { prox: 24 }, drag: { x: true, y: false }, points: { size: 6 } },
        scales: {
          x: { time: false, ...(log ? { distr: 3 } : {}), range: (u, low, high) => (low == null ? [0, 1] : low === high ? range : [log ? low : (low === u.data[0][0] ? range[0] : low), high]) },
          y: yAxis,
        },
        axes: axes(withUnit(quantity, unit), upper ? 'Share above (%)' : 'Share at or below (%)'),
        hooks: { draw: [guide] },
      },
      csv: () => [['run', 'curve', 'controller', 'quantity', 'unit', 'value', 'share_at_or_below'],
        ...curves.flatMap(({ run, cdf }) => {
          const p = column(cdf.p);
          return column(cdf.x).map((x, i) => [data.runs[run].name, cdf.label, cdf.controller, quantity, unit, x, p[i]]);
        })],
    });
  }

  // ---- the trade-off

  function tradeOff() {
    const trade = data.trade_off;
    if (!trade || !trade.points.length) return null;
    const host = el('div', { class: 'plot' });
    const x = withUnit(trade.x_label, trade.x_unit);
    const y = withUnit(trade.y_label, trade.y_unit);
    const node = el('figure', { class: 'box', style: 'margin-left:0;margin-right:0' },
      el('figcaption', {},
        el('div', { class: 'bar' }, el('h3', {}, `${y.split(' (')[0]} against ${trade.x_label}`),
          el('button', {
            type: 'button', class: 'quiet', 'aria-label': 'Download the trade-off as CSV',
            onclick: () => save('trade-off.csv', csv([['label', 'controller', x, `${x} ± 95 %`, y, `${y} ± 95 %`],
              ...trade.points.map((p) => [p.label, p.controller, p.x[0], p.x[1], p.y[0], p.y[1]])])),
          }, 'CSV')),
        el('p', { class: 'help' }, 'Means with 95 % intervals; faint dots are single seeds. Dotted: no controller here is better in both.')),
      host);
    const show = () => host.replaceChildren(scatter(trade, Math.max(280, host.clientWidth), 340, x, y));
    return {
      node,
      start() {
        show();
        let width = host.clientWidth;
        new ResizeObserver(() => {
          if (host.isConnected && host.clientWidth !== width) {
            width = host.clientWidth;
            show();
          }
        }).observe(host);
      },
    };
  }

  function niceTicks(low, high, count) {
    const raw = (high - low) / count;
    const size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((f) => f * size).find((s) => s >= raw);
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
    return ticks;
  }

  function extent(points, axis, at) {
    const all = points.flatMap((p) => [p[axis][0] - (p[axis][1] || 0), p[axis][0] + (p[axis][1] || 0), ...p.samples.map((s) => s[at])]);
    const finite = all.filter((v) => v != null && isFinite(v));
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const pad = (high - low || Math.abs(high) || 1) * 0.12;
    return [low - pad < 0 || low < 0.35 * high ? Math.min(0, low) : low - pad, high + pad];
  }

  function mark(kind, x, y, size, color) {
    const look = { fill: color, stroke: css('--paper'), 'stroke-width': 1.2 };
    const polygon = (points) => shape('polygon', { ...look, points: points.map(([a, b]) => `${x + a * size},${y + b * size}`).join(' ') });
    const t = 0.36;
    switch (kind) {
      case 'square': return polygon([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]);
      case 'up': return polygon([[0, -1.15], [1.1, 0.85], [-1.1, 0.85]]);
      case 'down': return polygon([[0, 1.15], [1.1, -0.85], [-1.1, -0.85]]);
      case 'diamond': return polygon([[0, -1.25], [1.1, 0], [0, 1.25], [-1.1, 0]]);
      case 'plus': return polygon([[-t, -1.15], [t, -1.15], [t, -t], [1.15, -t], [1.15, t], [t, t], [t, 1.15], [-t, 1.15], [-t, t], [-1.15, t], [-1.15, -t], [-t, -t]]);
      case 'cross': {
        const node = mark('plus', x, y, size, color);
        node.setAttribute('transform', `rotate(45 ${x} ${y})`);
        return node;
      }
      case 'star': return polygon(Array.from({ length: 10 }, (_, i) => {
        const r = i % 2 ? 0.58 : 1.4;
        return [r * Math.sin((i * Math.PI) / 5), -r * Math.cos((i * Math.PI) / 5)];
      }));
      default: return shape('circle', { ...look, cx: x, cy: y, r: size });
    }
  }

  function scatter(trade, width, height, xTitle, yTitle) {
    const box = { left: 62, right: width - 16, top: 12, bottom: height - 46 };
    const [x0, x1] = extent(trade.points, 'x', 0);
    const [y0, y1] = extent(trade.points, 'y', 1);
    const px = (v) => box.left + ((v - x0) / (x1 - x0)) * (box.right - box.left);
    const py = (v) => box.bottom - ((v - y0) / (y1 - y0)) * (box.bottom - box.top);
    const svg = shape('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `${yTitle} against ${xTitle}; best is high and left` });
    const glow = shape('radialGradient', { id: 'glow', cx: 0, cy: 0, r: 1 });
    glow.append(shape('stop', { offset: 0, 'stop-color': css('--good'), 'stop-opacity': 0.2 }), shape('stop', { offset: 1, 'stop-color': css('--good'), 'stop-opacity': 0 }));
    const corner = Math.min(170, (box.right - box.left) / 2);
    svg.append(shape('defs', {}, glow), shape('rect', { x: box.left, y: box.top, width: corner, height: corner * 0.8, fill: 'url(#glow)' }));
    const text = (x, y, content, more) => shape('text', { x, y, ...more }, content);
    for (const v of niceTicks(x0, x1, width / 110)) {
      svg.append(shape('line', { class: 'grid', x1: px(v), x2: px(v), y1: box.top, y2: box.bottom }),
        text(px(v), box.bottom + 17, fmtTick(v), { class: 'dim', 'text-anchor': 'middle' }));
    }
    for (const v of niceTicks(y0, y1, 6)) {
      svg.append(shape('line', { class: 'grid', x1: box.left, x2: box.right, y1: py(v), y2: py(v) }),
        text(box.left - 7, py(v) + 4, fmtTick(v), { class: 'dim', 'text-anchor': 'end' }));
    }
    svg.append(shape('path', { class: 'axis', fill: 'none', d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }),
      text((box.left + box.right) / 2, height - 8, xTitle, { class: 'dim', 'text-anchor': 'middle' }),
      text(0, 0, yTitle, { class: 'dim', 'text-anchor': 'middle', transform: `translate(14 ${(box.top + box.bottom) / 2}) rotate(-90)` }),
      text(box.left + 8, box.top + 16, '↖ better', { style: `fill:${css('--good')};font-weight:600` }));

    const best = trade.points.filter((p) => !trade.points.some((q) => q !== p && q.x[0] <= p.x[0] && q.y[0] >= p.y[0] && (q.x[0] < p.x[0] || q.y[0] > p.y[0])))
      .sort((a, b) => a.x[0] - b.x[0]);
    if (best.length > 1) svg.append(shape('polyline', { class: 'front', points: best.map((p) => `${px(p.x[0])},${py(p.y[0])}`).join(' ') }));

    const taken = trade.points.map((p) => ({ x: px(p.x[0]) - 8, y: py(p.y[0]) - 8, w: 16, h: 16 }));
    taken.push({ x: box.left, y: box.top, w: 70, h: 24 });
    const free = (r) => r.x >= box.left && r.x + r.w <= width && r.y >= 0 && r.y + r.h <= box.bottom
      && !taken.some((o) => r.x < o.x + o.w && o.x < r.x + r.w && r.y < o.y + o.h && o.y < r.y + r.h);
    for (const p of trade.points) {
      const color = hue(paintOf(p.controller));
      const [cx, cy] = [px(p.x[0]), py(p.y[0])];
      const bar = (a, b, c, d) => shape('line', { x1: a, y1: b, x2: c, y2: d, stroke: color, 'stroke-width': 1.5 });
      const value = (e, unit) => `${fmt(e[0])}${e[1] == null ? '' : ` ± ${fmt(e[1])}`} ${unit}`;
      const name = `${p.label}: ${trade.y_label} ${value(p.y, trade.y_unit)}, ${trade.x_label} ${value(p.x, trade.x_unit)}`;
      const group = shape('g', { class: 'point', tabindex: 0, role: 'img', 'aria-label': name }, shape('title', {}, name));
      for (const [a, b] of p.samples) group.append(shape('circle', { cx: px(a), cy: py(b), r: 2.6, fill: color, 'fill-opacity': 0.4 }));
      if (p.x[1]) group.append(bar(px(p.x[0] - p.x[1]), cy, px(p.x[0] + p.x[1]), cy));
      if (p.y[1]) group.append(bar(cx, py(p.y[0] - p.y[1]), cx, py(p.y[0] + p.y[1])));
      group.append(mark(paintOf(p.controller).shape, cx, cy, 6, color));
      const w = 7 * p.label.length + 4;
      const spots = [[11, -8], [-w - 10, -8], [-w / 2, -28], [-w / 2, 12], [11, -24], [11, 8], [-w - 10, -24], [-w - 10, 8], [11, -40], [11, 24]]
        .map(([dx, dy]) => ({ x: cx + dx, y: cy + dy, w, h: 16 }));
      const spot = spots.find(free) || spots[0];
      taken.push(spot);
      group.append(text(spot.x + 2, spot.y + 12, p.label, { class: 'halo' }));
      svg.append(group);
    }
    return svg;
  }

  // ---- the page

  const above = el('div');
  const charts = el('div');

  function draw() {
    const { scrollY } = window;
    const kept = state.x;
    for (const plot of plots) plot.destroy();
    plots = [];
    timed = [];
    laneCache = null;
    readout = null;
    charts.replaceChildren();

    const times = [...state.shown].flatMap((r) => data.runs[r].series.map((series) => column(series.t)).filter((t) => t.length));
    full = times.length ? [Math.min(...times.map((t) => t[0])), Math.max(...times.map((t) => t[t.length - 1]))] : [0, 1];

    const trade = tradeOff();
    const side = cdfPlots();
    if (trade) charts.append(trade.node);
    if (side.length) charts.append(el('div', { class: 'pair' }, ...side.map((made) => made.node)));
    for (const made of [trade, ...side]) if (made) made.start();
    const stack = [...data.panels.map(timePlot), lanePlot()].filter(Boolean);
    if (stack.length) {
      charts.append(strip(), ...stack.map((made) => made.node));
      timed = stack.map((made) => made.start());
      if (kept && kept[0] < full[1] && kept[1] > full[0]) {
        for (const plot of timed) plot.setScale('x', { min: kept[0], max: kept[1] });
      } else state.x = null;
    } else if (data.runs.length) charts.append(el('p', { class: 'box' }, 'No run is drawn: choose one above.'));
    window.scrollTo({ top: scrollY, behavior: 'instant' });
  }

  function strip() {
    readout = el('output', { 'aria-live': 'off' });
    const striped = lanes().filter((lane) => lane.bands.length);
    let choice = null;
    if (striped.length) {
      const now = shaded();
      const select = el('select', {},
        el('option', { value: '' }, 'none'),
        ...striped.map((lane) => el('option', { value: lane.key, selected: lane === now }, lane.label)));
      select.onchange = () => {
        state.shade = select.value;
        for (const plot of timed) plot.redraw(false);
      };
      choice = el('label', {}, 'Tint by states of ', select);
    }
    return el('div', { class: 'strip box' }, el('h2', {}, 'Over time'), readout, choice,
      el('button', {
        type: 'button', class: 'quiet',
        onclick: () => {
          for (const plot of timed) plot.setScale('x', { min: full[0], max: full[1] });
        },
      }, 'Show all'));
  }

  function theme() {
    const button = document.getElementById('theme');
    const label = () => {
      button.textContent = dark() ? 'Light' : 'Dark';
      button.setAttribute('aria-label', `Switch to ${dark() ? 'light' : 'dark'} colours`);
    };
    try {
      const kept = localStorage.getItem('slackwater-theme');
      if (kept === 'dark' || kept === 'light') html.dataset.theme = kept;
    } catch { /* storage may be closed to local files */ }
    button.hidden = false;
    button.onclick = () => {
      html.dataset.theme = dark() ? 'light' : 'dark';
      try {
        localStorage.setItem('slackwater-theme', html.dataset.theme);
      } catch { /* as above */ }
      label();
      draw();
    };
    darkWanted.addEventListener('change', () => {
      label();
      draw();
    });
    label();
  }

  theme();
  tables();
  const runs = picker();
  if (runs) above.append(runs);
  root.append(above, charts);
  draw();
})();
