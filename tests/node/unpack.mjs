// Unpacks the browser of the tests into $TMPDIR.
import chromium from '@sparticuz/chromium';

console.log(await chromium.executablePath());
