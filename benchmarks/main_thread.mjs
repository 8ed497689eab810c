// What the main thread of a page does, task by task, in its own CPU time: what others do on the machine is not counted.

/** Do something; return the CPU time of every task of the page meanwhile, in milliseconds, in order. */
export async function tasksOf(page, act) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  const keep = ({ name, ph, pid, tid, tdur, args }) => {
    if (ph === 'X' && name.endsWith('RunTask')) events.push({ thread: `${pid}/${tid}`, cpu: (tdur ?? 0) / 1000 });
    else if (name === 'thread_name' && args.name === 'CrRendererMain') mains.add(`${pid}/${tid}`);
  };
  const mains = new Set();
  session.on('Tracing.dataCollected', ({ value }) => value.forEach(keep));
  await session.send('Tracing.start', { traceConfig: { recordMode: 'recordAsMuchAsPossible', includedCategories: ['toplevel'] }, transferMode: 'ReportEvents' });
  await act();
  const complete = new Promise((done) => session.once('Tracing.tracingComplete', done));
  await session.send('Tracing.end');
  await complete;
  await session.detach();
  // Other pages have a main thread, too: ours is the one that worked.
  const sums = new Map();
  for (const { thread, cpu } of events) if (mains.has(thread)) sums.set(thread, (sums.get(thread) ?? 0) + cpu);
  const [own] = [...sums].sort((a, b) => b[1] - a[1])[0] ?? [];
  return events.filter(({ thread }) => thread === own).map(({ cpu }) => cpu);
}

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
