// A sheet over the page: a modal dialog, and in a browser that has none (Safari before 15.4) a section that opens in its
// place at the end of the page, is scrolled to, and gives the focus back like one.

export const isOpen = (sheet) => sheet.hasAttribute('open');

export function openSheet(sheet) {
  if (isOpen(sheet)) return;
  if (sheet.showModal) {
    sheet.showModal();
    return;
  }
  sheet.openedFrom = document.activeElement;
  sheet.setAttribute('open', '');
  sheet.setAttribute('role', 'dialog');
  sheet.scrollIntoView();
}

export function closeSheet(sheet) {
  if (!isOpen(sheet)) return;
  if (sheet.close) {
    sheet.close();
    return;
  }
  sheet.removeAttribute('open');
  sheet.openedFrom?.focus();
  sheet.dispatchEvent(new Event('close'));
}
