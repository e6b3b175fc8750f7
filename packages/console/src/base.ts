/** What stands before every path of the gateway, as a proxy shows it to browsers: `/` where it adds nothing. */
export const base: string = location.pathname.replace(/console\/$/, '');
