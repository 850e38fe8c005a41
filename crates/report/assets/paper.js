// Draws the figures of a paper's page. Everything comes from the JSON block; names are only ever set as text.
(() => {
  'use strict';

  const data = JSON.parse(document.getElementById('data').textContent);
  const say = document.getElementById('say');
  const html = document.documentElement;

  const state = { switched: new Map(), log: new Set() };
  const timed = []; // figures here have their own time axes
  let plots = [];

  /*common*/

  // ---- curves of a panel

  function curvesOf(id, list) {
    const counts = new Map();
    let areas = 0;
    const rank = (curve) => ['area', 'main', 'side'].indexOf(curve.role);
    return list.map((curve, i) => {
      // Variants of a controller share its hue, so they are counted together.
      const family = paintOf(curve.controller).light;
      const place = counts.get(family) || 0;
      if (curve.role === 'main') counts.set(family, place + 1);
      const key = `${id}|${i}`;
      return {
        key, role: curve.role, label: curve.label, controller: curve.controller,
        place: curve.role === 'side' ? Math.max(0, place - 1) : place,
        first: curve.role === 'area' && areas++ === 0,
        x: column(curve.x), y: column(curve.y), stats: curve.stats,
        show: !state.switched.has(key) || state.switched.get(key),
      };
    }).sort((a, b) => rank(a) - rank(b));
  }

  function logButton(id) {
    const on = state.log.has(id);
    return el('button', {
      type: 'button', class: 'quiet', 'aria-pressed': String(on), 'data-toggle': id,
      onclick: () => {
        if (on) state.log.delete(id);
        else state.log.add(id);
        draw();
        const again = document.querySelector(`[data-toggle="${id}"]`);
        if (again) again.focus({ preventScroll: true });
      },
    }, 'Log');
  }

  // A dashed line across the plot: what the paper promises, or asks for.
  const guides = (panel, axis) => (u) => clipped(u, (ctx, box, ratio) => {
    ctx.strokeStyle = css('--dim');
    ctx.fillStyle = css('--dim');
    ctx.setLineDash([4 * ratio, 4 * ratio]);
    ctx.lineWidth = ratio;
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = 'alphabetic';
    for (const { at, label } of panel.guides) {
      const pos = u.valToPos(at, axis, true);
      ctx.beginPath();
      if (axis === 'y') {
        ctx.moveTo(box.left, pos);
        ctx.lineTo(box.left + box.width, pos);
        ctx.textAlign = 'right';
        ctx.fillText(label, box.left + box.width - 4 * ratio, pos - 4 * ratio);
      } else {
        ctx.moveTo(pos, box.top);
        ctx.lineTo(pos, box.top + box.height);
        ctx.textAlign = 'left';
        ctx.fillText(label, pos + 4 * ratio, box.top + box.height - 6 * ratio);
      }
      ctx.stroke();
    }
  });

  // ---- a plot over time, with the states of one sender behind it

  const LANE = 12;

  function timePlot(panel) {
    const curves = curvesOf(panel.id, panel.curves);
    const log = state.log.has(panel.id);
    const { tracks } = panel;
    const xs = curves.filter((curve) => curve.x.length).map((curve) => [curve.x[0], curve.x[curve.x.length - 1]]);
    const span = xs.length ? [Math.min(...xs.map((x) => x[0])), Math.max(...xs.map((x) => x[1]))] : [0, 1];
    const bands = (u) => clipped(u, (ctx, box, ratio) => {
      tracks.forEach((track, row) => {
        for (const [name, a, b] of track.bands) {
          const x = u.valToPos(a, 'x', true);
          const width = Math.max(ratio, u.valToPos(b, 'x', true) - x);
          ctx.fillStyle = stateHue(track.names[name]);
          if (tracks.length === 1) {
            ctx.globalAlpha = dark() ? 0.2 : 0.15;
            ctx.fillRect(x, box.top, width, box.height);
          }
          ctx.globalAlpha = 1;
          ctx.fillRect(x, box.top + box.height - (tracks.length - row) * LANE * ratio + 2 * ratio, width, (LANE - 3) * ratio);
        }
      });
    });
    const foot = tracks.length * LANE;
    const high = panel.top;
    const y = log ? yScale(true) : {
      range: (u, low, top) => {
        if (top == null) return [0, 1];
        const up = high == null ? (top > 0 ? top * 1.06 : 1) : Math.min(high, top * 1.06);
        // Room for the lanes of states below zero.
        const inner = Math.max(60, u.height - 60);
        return [low < 0 ? low * 1.06 : -(up * foot) / Math.max(1, inner - foot), up];
      },
    };
    const made = figure({
      title: panel.title, unit: panel.unit, xName: 'time', xUnit: 's', help: panel.help,
      curves, line: lineOf, data: joined(curves, span), height: (panel.wide ? 250 : 220) + foot, range: () => span,
      buttons: [logButton(panel.id)],
      options: {
        cursor: { focus: { prox: 24 }, drag: { x: true, y: false }, points: { size: 6 }, y: false },
        scales: { x: { time: false, range: (u, low, top) => (low == null ? span : [low, top]) }, y },
        axes: axes('Time (s)', withUnit(panel.axis, panel.unit), foot && !log ? { splits: undefined, values: (u, splits) => splits.map((v) => (v < 0 ? '' : fmtTick(v))) } : {}),
        hooks: { drawClear: tracks.length ? [bands] : [], draw: panel.guides.length ? [guides(panel, 'y')] : [] },
      },
      csv: () => [['curve', 'controller', 'unit', 'time_s', 'value'],
        ...curves.flatMap((curve) => curve.x.map((t, i) => [curve.label, curve.controller, panel.unit, t, curve.y[i]]))],
      stats: () => curves.map((curve) => [curve.label, ...(curve.stats || [null, null, null, null])]),
    });
    legend(made.node, tracks);
    return made;
  }

  // Names of the states, with the share of time that each track spent there.
  function legend(node, tracks) {
    if (!tracks.length) return;
    const names = [...new Set(tracks.flatMap((track) => track.bands.map((band) => track.names[band[0]])))];
    const line = el('div', { class: 'keys states' });
    for (const name of names) {
      const box = el('span', { class: 'swatch', style: `background:${stateHue(name)};margin:0` });
      const shares = tracks.map((track) => {
        const all = track.bands.reduce((sum, [, a, b]) => sum + b - a, 0);
        const mine = track.bands.reduce((sum, [n, a, b]) => sum + (track.names[n] === name ? b - a : 0), 0);
        return all > 0 ? `${((100 * mine) / all).toFixed(mine / all < 0.1 ? 1 : 0)} %` : '–';
      });
      line.append(el('span', { class: 'key' }, box, name, el('span', { class: 'dim' }, shares.length > 3 ? '' : shares.join(' / '))));
    }
    node.append(line);
  }

  // ---- a distribution

  function cdfPlot(panel) {
    const log = state.log.has(panel.id);
    const curves = curvesOf(panel.id, panel.curves);
    for (const curve of curves) {
      const keep = curve.x.map((value) => !log || value > 0);
      curve.y = curve.y.filter((_, i) => keep[i]).map((share) => 100 * share);
      curve.x = curve.x.filter((_, i) => keep[i]);
    }
    const ends = curves.flatMap((curve) => (curve.x.length ? [curve.x[0], curve.x[curve.x.length - 1]] : []));
    const least = log ? Math.min(...ends) : Math.min(0, ...ends);
    const range = ends.length ? [least, Math.min(panel.top == null ? Infinity : panel.top, Math.max(...ends))] : [0, 1];
    return figure({
      title: panel.title, unit: '%', xName: panel.axis, xUnit: panel.unit, help: panel.help,
      curves, line: (curve) => ({
        ...lineOf(curve), paths: uPlot.paths.stepped({ align: 1 }), ...(curve.role === 'side' ? { dash: [3, 3], width: 1.4, alpha: 1 } : {}),
      }),
      data: joined(curves), height: 290, range: () => range, buttons: [logButton(panel.id)],
      options: {
        cursor: { focus: { prox: 24 }, drag: { x: true, y: false }, points: { size: 6 } },
        scales: {
          x: { time: false, ...(log ? { distr: 3 } : {}), range: (u, low, high) => (low == null ? [0, 1] : low === u.data[0][0] ? range : [low, high]) },
          y: { range: [0, 100] },
        },
        axes: axes(withUnit(panel.axis, panel.unit), 'Share at or below (%)'),
        hooks: { draw: panel.guides.length ? [guides(panel, 'x')] : [] },
      },
      csv: () => [['curve', 'controller', panel.axis, 'share_at_or_below'],
        ...panel.curves.flatMap((curve) => {
          const [x, p] = [column(curve.x), column(curve.y)];
          return x.map((value, i) => [curve.label, curve.controller, value, p[i]]);
        })],
    });
  }

  // ---- bars with intervals, drawn from left to right

  function drawn(title, help, head, rows, paint) {
    const host = el('div', { class: 'plot' });
    const saves = el('span', {});
    const node = el('figure', { class: 'box', style: 'margin-left:0;margin-right:0' },
      el('figcaption', {},
        el('div', { class: 'bar' }, el('h3', {}, title), saves,
          el('button', { type: 'button', class: 'quiet', 'aria-label': `Download ${title} as CSV`, onclick: () => save(fileName(title), csv([head, ...rows])) }, 'CSV')),
        help ? el('p', { class: 'help' }, help) : null),
      host);
    saves.replaceWith(saveDrawn(title, node, host));
    return {
      node,
      start() {
        let width = 0;
        const show = () => {
          if (!host.isConnected || host.clientWidth === width) return;
          width = host.clientWidth;
          host.replaceChildren(paint(Math.max(260, width)));
        };
        show();
        new ResizeObserver(show).observe(host);
      },
    };
  }

  function barPlot(panel) {
    const rows = panel.bars.map((bar) => [bar.group, bar.label, bar.controller, ...bar.value]);
    const head = ['group', 'label', 'controller', withUnit(panel.axis, panel.unit), 'low 95 %', 'high 95 %'];
    return drawn(panel.title, panel.help, head, rows, (width) => bars(panel, width));
  }

  function bars(panel, width) {
    const ROW = 24;
    const HEAD = 24;
    const grouped = [];
    for (const bar of panel.bars) {
      if (!grouped.length || grouped[grouped.length - 1].name !== bar.group) grouped.push({ name: bar.group, bars: [] });
      grouped[grouped.length - 1].bars.push(bar);
    }
    const named = grouped.some((group) => group.name);
    const widest = Math.max(...panel.bars.map((bar) => bar.label.length), 4);
    const box = { left: Math.min(width * 0.42, 16 + widest * 7), right: width - 70, top: panel.guides.length ? 18 : 6 };
    const height = box.top + grouped.length * (named ? HEAD : 0) + panel.bars.length * ROW + 44;
    const bottom = height - 40;
    const ends = panel.bars.flatMap((bar) => [...bar.value, ...bar.samples]).concat(panel.guides.map((guide) => guide.at)).filter((v) => v != null && isFinite(v));
    const lows = panel.bars.flatMap((bar) => [...bar.value, ...bar.samples]).filter((v) => v != null && isFinite(v));
    const low = panel.from == null ? Math.min(0, ...lows) : panel.from; // what lies below is drawn at the edge, its number beside it
    const high = panel.top == null ? Math.max(...ends, low + 1e-9) * (panel.from == null ? 1.03 : 1) : panel.top;
    const px = (v) => box.left + ((Math.min(Math.max(v, low), high) - low) / (high - low || 1)) * (box.right - box.left);
    const foot = px(Math.max(low, 0)); // an interval may reach below zero: bars start at zero all the same
    const svg = shape('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': panel.title });
    const text = (x, y, content, more) => shape('text', { x, y, ...more }, content);
    for (const v of niceTicks(low, high, Math.max(2, (box.right - box.left) / 90))) {
      svg.append(shape('line', { class: 'grid', x1: px(v), x2: px(v), y1: box.top, y2: bottom }),
        text(px(v), bottom + 16, fmtTick(v), { class: 'dim', 'text-anchor': 'middle' }));
    }
    svg.append(text((box.left + box.right) / 2, height - 6, withUnit(panel.axis, panel.unit), { class: 'dim', 'text-anchor': 'middle' }));
    let y = box.top;
    for (const group of grouped) {
      if (named) {
        svg.append(text(4, y + 16, group.name, { style: 'font-weight:600' }));
        y += HEAD;
      }
      for (const bar of group.bars) {
        const [mean, least, most] = bar.value;
        const color = bar.controller ? hue(paintOf(bar.controller)) : hue(data.link);
        const middle = y + ROW / 2;
        const value = mean == null ? 'no value' : `${fmt(mean)}${spread(bar.value, fmt)} ${panel.unit}`;
        const name = `${group.name ? `${group.name}, ` : ''}${bar.label}: ${value}`;
        const mine = shape('g', { class: 'point', tabindex: 0, role: 'img', 'aria-label': name }, shape('title', {}, name));
        mine.append(text(box.left - 8, middle + 4, bar.label, { 'text-anchor': 'end' }));
        if (mean != null) {
          mine.append(shape('rect', { x: Math.min(foot, px(mean)), y: y + 4, width: Math.max(1, Math.abs(px(mean) - foot)), height: ROW - 8, rx: 2, fill: color, 'fill-opacity': panel.from == null ? 0.78 : 0.16 }));
          if (panel.from != null) mine.append(shape('circle', { cx: px(mean), cy: middle, r: 5, fill: color }));
          for (const sample of bar.samples) {
            if (sample != null) mine.append(shape('circle', { cx: px(sample), cy: middle, r: 2, fill: css('--ink'), 'fill-opacity': 0.45 }));
          }
          if (least != null) {
            const [a, b] = [px(least), px(most)];
            const line = (x1, y1, x2, y2) => shape('line', { x1, y1, x2, y2, stroke: css('--ink'), 'stroke-width': 1.3 });
            mine.append(line(a, middle, b, middle), line(a, middle - 4, a, middle + 4), line(b, middle - 4, b, middle + 4));
          }
          mine.append(text(box.right + 8, middle + 4, fmt(mean), { class: 'dim' }));
        }
        svg.append(mine);
        y += ROW;
      }
    }
    for (const { at, label } of panel.guides) {
      svg.append(shape('line', { x1: px(at), x2: px(at), y1: box.top, y2: bottom, class: 'front' }),
        text(px(at), box.top - 6, label, { class: 'dim', 'text-anchor': 'middle' }));
    }
    return svg;
  }

  // ---- a scatter plot

  function scatterPlot(panel) {
    const trade = panel.scatter;
    const x = withUnit(trade.x_label, trade.x_unit);
    const y = withUnit(trade.y_label, trade.y_unit);
    const rows = trade.points.map((p) => [p.label, p.controller, ...p.x, ...p.y]);
    return drawn(panel.title, panel.help, ['label', 'controller', x, `${x} low 95 %`, `${x} high 95 %`, y, `${y} low 95 %`, `${y} high 95 %`], rows,
      (width) => scatter(trade, width, 340, x, y));
  }

  // ---- the page

  const KINDS = { time: timePlot, cdf: cdfPlot, bars: barPlot, scatter: scatterPlot };

  function draw() {
    const { scrollY } = window;
    for (const plot of plots) plot.destroy();
    plots = [];
    sheets.clear();
    for (const host of document.querySelectorAll('[data-panels]')) {
      const made = data.figures[+host.dataset.panels].map((panel) => {
        const one = KINDS[panel.kind](panel);
        if (panel.wide) one.node.classList.add('wide');
        return one;
      });
      host.replaceChildren(...made.map((one) => one.node));
      for (const one of made) one.start();
    }
    window.scrollTo({ top: scrollY, behavior: 'instant' });
  }

  theme();
  tables();
  draw();
})();
