  // What the pages share. A page defines `data`, `html`, `say`, `state`, `plots`, `timed` and `draw`, and takes this in.

  const isArray = Array.isArray;

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

  // ---- an estimate [mean, low, high] in words: ± where its sides are alike

  function spread([mean, low, high], digits) {
    if (low == null) return '';
    const [down, up] = [mean - low, high - mean];
    return Math.abs(up - down) <= 0.1 * Math.max(up, down) ? ` ± ${digits((high - low) / 2)}` : ` [${digits(low)}, ${digits(high)}]`;
  }

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
      return cell.dataset.sort === 'number' ? [title, `${title} low 95 %`, `${title} high 95 %`] : [title];
    });
    const body = [...table.tBodies[0].rows].map((row) =>
      [...row.cells].flatMap((cell, i) => {
        if (i === 0) return [cell.textContent];
        if (cell.dataset.v == null) return [cell.classList.contains('none') ? null : cell.textContent, null, null];
        return [+cell.dataset.v, ...['l', 'u'].map((end) => (cell.dataset[end] == null ? null : +cell.dataset[end]))];
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

  // ---- curves

  function swatch(controller) {
    const paint = paintOf(controller);
    return el('span', { class: 'swatch', style: `--l:${paint.light};--d:${paint.dark};margin:0` });
  }

  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

  // The n-th flow or run of one controller: same hue, other shade and dash.
  function style(controller, n) {
    const base = hue(paintOf(controller));
    const shades = [base, mix(base, dark() ? '#14181d' : '#ffffff', 0.36), mix(base, dark() ? '#ffffff' : '#000000', 0.4)];
    return { stroke: shades[n % 3], dash: DASHES[n % 4] };
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

  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

  // ---- plots

  const sheets = new Map(); // each plot on the page: where it stands, and what a picture of it is made of

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
    const saves = el('span', { class: 'saves' });
    const figureNode = el('figure', { class: 'box', style: 'margin-left:0;margin-right:0' },
      el('figcaption', {},
        el('div', { class: 'bar' }, el('h3', {}, spec.title), ...(spec.buttons || []), saves,
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
        const plot = () => ({ title: spec.title, library: uPlot, options, data: spec.data, shown: u, labels: spec.curves.map((curve) => curve.label) });
        sheets.set(u, { host: plotHost, plot });
        saves.replaceChildren(...figures.buttons({ title: spec.title, node: figureNode, plot }));
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

  function yScale(log, most) {
    if (log) return { distr: 3, range: (u, low, high) => (high > 0 ? uPlot.rangeLog(Math.max(low, high / 1e4), high, 10, true) : [0.1, 1]) };
    return {
      range: (u, low, high) => {
        if (low == null) return [0, 1];
        if (low < 0) return uPlot.rangeNum(low, high, 0.1, true);
        return [0, high > 0 ? Math.max(high, most || 0) * 1.06 : 1];
      },
    };
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

  // ---- points

  function niceTicks(low, high, count) {
    const raw = (high - low) / count;
    const size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((f) => f * size).find((s) => s >= raw);
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
    return ticks;
  }

  function extent(points, axis, at) {
    const all = points.flatMap((p) => [...p[axis], ...p.samples.map((s) => s[at])]);
    const finite = all.filter((v) => v != null && isFinite(v));
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const pad = (high - low || Math.abs(high) || 1) * 0.12;
    return [low - pad < 0 || low < 0.35 * high ? Math.min(0, low) : low - pad, high + pad];
  }

  // An axis by the logarithm, for values above zero: room beside the means; what an interval has below is cut.
  function logExtent(points) {
    const all = points.map((p) => p.x[0]);
    return [Math.min(...all) / 1.25, Math.max(...all) * 1.35];
  }

  function logTicks(low, high) {
    const ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      for (const f of [1, 2, 5]) if (f * power >= low && f * power <= high) ticks.push(f * power);
    }
    return ticks;
  }

  function mark(kind, x, y, size, color, hollow) {
    const look = hollow
      ? { fill: css('--paper'), stroke: color, 'stroke-width': 2 }
      : { fill: color, stroke: css('--paper'), 'stroke-width': 1.2 };
    const polygon = (points) => shape('polygon', { ...look, points: points.map(([a, b]) => `${x + a * size},${y + b * size}`).join(' ') });
    const t = 0.36;
    switch (kind) {
      case 'square': return polygon([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]);
      case 'up': return polygon([[0, -1.15], [1.1, 0.85], [-1.1, 0.85]]);
      case 'down': return polygon([[0, 1.15], [1.1, -0.85], [-1.1, -0.85]]);
      case 'diamond': return polygon([[0, -1.25], [1.1, 0], [0, 1.25], [-1.1, 0]]);
      case 'plus': return polygon([[-t, -1.15], [t, -1.15], [t, -t], [1.15, -t], [1.15, t], [t, t], [t, 1.15], [-t, 1.15], [-t, t], [-1.15, t], [-1.15, -t], [-t, -t]]);
      case 'cross': {
        const node = mark('plus', x, y, size, color, hollow);
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
    const [x0, x1] = trade.log ? logExtent(trade.points) : extent(trade.points, 'x', 0);
    const [y0, y1] = extent(trade.points, 'y', 1);
    const along = (v) => (trade.log ? Math.log(Math.max(v, x0) / x0) / Math.log(x1 / x0) : (v - x0) / (x1 - x0));
    const px = (v) => box.left + along(v) * (box.right - box.left);
    const py = (v) => box.bottom - ((v - y0) / (y1 - y0)) * (box.bottom - box.top);
    const svg = shape('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `${yTitle} against ${xTitle}; best is high and left` });
    const glow = shape('radialGradient', { id: 'glow', cx: 0, cy: 0, r: 1 });
    glow.append(shape('stop', { offset: 0, 'stop-color': css('--good'), 'stop-opacity': 0.2 }), shape('stop', { offset: 1, 'stop-color': css('--good'), 'stop-opacity': 0 }));
    const corner = Math.min(170, (box.right - box.left) / 2);
    svg.append(shape('defs', {}, glow), shape('rect', { x: box.left, y: box.top, width: corner, height: corner * 0.8, fill: 'url(#glow)' }));
    const text = (x, y, content, more) => shape('text', { x, y, ...more }, content);
    for (const v of trade.log ? logTicks(x0, x1) : niceTicks(x0, x1, width / 110)) {
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
      const value = (e, unit) => `${fmt(e[0])}${spread(e, fmt)} ${unit}`;
      const name = `${p.label}: ${trade.y_label} ${value(p.y, trade.y_unit)}, ${trade.x_label} ${value(p.x, trade.x_unit)}`;
      const group = shape('g', { class: 'point', tabindex: 0, role: 'img', 'aria-label': name }, shape('title', {}, name));
      for (const [a, b] of p.samples) group.append(shape('circle', { cx: px(a), cy: py(b), r: 2.6, fill: color, 'fill-opacity': 0.4 }));
      if (p.x[1] != null) group.append(bar(px(p.x[1]), cy, px(p.x[2]), cy));
      if (p.y[1] != null) group.append(bar(cx, py(p.y[1]), cx, py(p.y[2])));
      group.append(mark(paintOf(p.controller).shape, cx, cy, 6, color, p.hollow));
      const w = 7 * p.label.length + 4;
      const spots = [[11, -8], [-w - 10, -8], [-w / 2, -28], [-w / 2, 12], [11, -24], [11, 8], [-w - 10, -24], [-w - 10, 8], [11, -40], [11, 24], [-w - 10, -40], [-w - 10, 24], [-w / 2, -46], [-w / 2, 30], [26, -56], [26, 40], [-w - 26, -56], [-w - 26, 40]]
        .map(([dx, dy]) => ({ x: cx + dx, y: cy + dy, w, h: 16 }));
      const spot = spots.find(free) || spots[0];
      taken.push(spot);
      group.append(text(spot.x + 2, spot.y + 12, p.label, { class: 'halo' }));
      svg.append(group);
    }
    return svg;
  }

  // What is SVG on the page already: `host` holds it.
  function saveDrawn(title, node, host) {
    return el('span', { class: 'saves' }, ...figures.buttons({ title, node, drawn: () => host.querySelector('svg') }));
  }

  function paper() {
    figures.onPaper(() => plots.map((u) => sheets.get(u)).map(({ host, plot }) => ({ host, plot: plot() })), draw);
  }

  // ---- theme

  function theme() {
    paper();
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
