/** The prefix of every path of the gateway as browsers see it through a proxy: `/` if the proxy adds nothing. */
export const base: string = location.pathname.replace(/console\/$/, '');
