// Draws the plots of a report. Everything comes from the JSON block; names are only ever set as text.
(() => {
  'use strict';

  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.getElementById('plots');
  const say = document.getElementById('say');
  const html = document.documentElement;

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

  /*common*/

  // ---- which runs

  function picker() {
    if (data.runs.length < 2) return null;
    const sets = new Map();
    data.runs.forEach((run, i) => {
      const key = [...new Set(run.controllers)].join(' + ') || run.label;
      sets.set(key, [...(sets.get(key) || []), i]);
    });
    const field = el('fieldset', { class: 'picker' }, el('legend', { class: 'unseen' }, 'Runs shown in the plots'));
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
    return el('section', { class: 'box', 'aria-label': 'Runs shown' },
      el('div', { class: 'bar' }, el('h2', {}, 'Show'),
        button('One per controller', firsts), button('All', data.runs.keys()), button('None', [])),
      field);
  }

  // ---- curves: what the shown runs put into a plot

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

  // ---- plots

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

  function timePlot(panel, at) {
    const id = `${panel.id}|${panel.unit}`;
    const { curves, waiting } = curvesOf(at, state.sides.has(id));
    if (!curves.length) return null;
    const log = state.log.has(id);
    const over = curves.map((curve, i) => ({ curve, i, ...curve.series.spread })).filter((s) => s.t != null && s.curve.role === 'main');
    // Many bands hide each other: they wait for the reader's word.
    const crowd = over.length > 2;
    const bands = `bands|${id}`;
    const spreads = (crowd && !state.sides.has(bands) ? [] : over)
      .map((s) => ({ ...s, t: column(s.t), low: column(s.low), high: column(s.high) }));
    const foot = ['queue', 'cwnd'].includes(panel.id) && lanes().some((lane) => lane.ticks.length);
    return figure({
      title: panel.title, unit: panel.unit, time: true, xName: 'time', xUnit: 's',
      help: panel.help + (spreads.length ? ` Line: the first seed; band: from the least to the greatest of ${Math.max(...spreads.map((s) => s.seeds))} seeds.` : '') + (foot ? ' Ticks at the foot: drops (tall), marks (short), in the colour of the controller.' : ''),
      curves, line: lineOf, data: joined(curves, full), height: 230, range: () => full,
      buttons: [crowd ? toggle(state.sides, bands, '+ bands over seeds') : null, waiting ? toggle(state.sides, id, `+ ${waiting}`) : null, toggle(state.log, id, 'Log')],
      options: {
        cursor: timeCursor(),
        scales: { x: timeScale(), y: yScale(log, spreads.length ? Math.max(...spreads.flatMap((s) => s.high)) : null) },
        axes: axes('Time (s)', withUnit(panel.axis, panel.unit)),
        hooks: { ...timeHooks(), ...(spreads.length ? { drawClear: [tint, (u) => envelopes(u, spreads, log)] } : {}), ...(foot ? { draw: [footTicks] } : {}) },
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

  // Bands over the seeds, behind the curves of the first; each as its curve is shown.
  function envelopes(u, spreads, log) {
    clipped(u, (ctx) => {
      ctx.globalAlpha = spreads.length > 2 ? 0.14 : 0.2;
      for (const { curve, i, t, low, high } of spreads) {
        if (!u.series[i + 1].show) continue;
        ctx.fillStyle = hue(paintOf(curve.controller));
        const y = (v) => u.valToPos(log ? Math.max(v, u.scales.y.min) : v, 'y', true);
        t.forEach((from, k) => {
          if (low[k] == null) return;
          const to = k + 1 < t.length ? t[k + 1] : from + (k ? from - t[k - 1] : 0);
          const [a, b] = [u.valToPos(from, 'x', true), u.valToPos(to, 'x', true)];
          ctx.fillRect(a, y(high[k]), b - a, y(low[k]) - y(high[k]));
        });
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
    const title = `${y.split(' (')[0]} against ${trade.x_label}`;
    const saves = el('span', {});
    const node = el('figure', { class: 'box', style: 'margin-left:0;margin-right:0' },
      el('figcaption', {},
        el('div', { class: 'bar' }, el('h3', {}, title),
          saves,
          el('button', {
            type: 'button', class: 'quiet', 'aria-label': 'Download the trade-off as CSV',
            onclick: () => save('trade-off.csv', csv([['label', 'controller', x, `${x} low 95 %`, `${x} high 95 %`, y, `${y} low 95 %`, `${y} high 95 %`],
              ...trade.points.map((p) => [p.label, p.controller, ...p.x, ...p.y])])),
          }, 'CSV')),
        el('p', { class: 'help' }, 'Means with 95 % intervals; faint dots are single seeds. Dotted: no controller here is better in both.')),
      host);
    saves.replaceWith(saveDrawn(title, node, host));
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

  // ---- the page

  const above = el('div');
  const charts = el('div');

  function draw() {
    const { scrollY } = window;
    const kept = state.x;
    for (const plot of plots) plot.destroy();
    plots = [];
    sheets.clear();
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

  theme();
  tables();
  const runs = picker();
  if (runs) above.append(runs);
  root.append(above, charts);
  draw();
})();
