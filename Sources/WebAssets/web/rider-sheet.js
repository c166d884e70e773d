// A sheet over the page: a modal dialog. In browsers without dialogs, it is a section at the end of the page that is scrolled
// into view and returns the focus.

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
