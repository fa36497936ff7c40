// Takes the pictures in docs/img: npm run pictures. They show the real page on the real server.

import { mkdirSync, writeFileSync } from 'node:fs';

import { serve } from '../../sdk/js/test/house/server.js';
import { launch } from '../../sdk/js/test/house/site.js';
import { earn, playing, slide, visit } from './visitor.js';

const folder = new URL('../../docs/img/', import.meta.url).pathname;
const DESKTOP = { viewport: { width: 1280, height: 684 }, colorScheme: 'dark' };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2, colorScheme: 'light' };

mkdirSync(folder, { recursive: true });
const [server, browser] = await Promise.all([serve(), launch()]);

async function enter(name, settings) {
  const guest = await visit(browser, server, settings);
  await playing(guest.page);
  await guest.page.locator('#name').fill(name);
  await guest.page.locator('#name').press('Enter');
  return guest;
}

/** What a page shows, as WebP: a third of the bytes, and no loss that one sees. */
async function picture(page, name) {
  const shot = `data:image/png;base64,${(await page.screenshot()).toString('base64')}`;
  const press = await browser.newPage();
  const webp = await press.evaluate(async (from) => {
    const image = new Image();
    image.src = from;
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.9).split(',')[1];
  }, shot);
  await press.close();
  writeFileSync(`${folder}${name}.webp`, webp, 'base64');
}

try {
  const ann = await enter('Ann', DESKTOP);
  const bob = await enter('Bob', DESKTOP);
  await Promise.all([earn(ann.page, 9), earn(bob.page, 6)]);
  await slide(ann.page, '#offline-seconds', 4);
  await ann.page.locator('#offline').click();
  await ann.page.locator('#rung[data-rung=replayed]').waitFor();
  await picture(ann.page, 'arena');

  await slide(bob.page, '#offline-seconds', 13);
  await bob.page.locator('#offline').click();
  await ann.page.locator('#board li.away').waitFor();
  await ann.page.waitForTimeout(5500);
  await picture(ann.page, 'arena-ghost');

  const cat = await enter('Cat', PHONE);
  await cat.page.waitForTimeout(2000);
  await picture(cat.page, 'arena-phone');

  await ann.open();
  await ann.page.locator('#state[data-state=elsewhere]').waitFor();
  await picture(ann.page, 'arena-takeover');
} finally {
  await browser.close();
  await server.stop();
}
