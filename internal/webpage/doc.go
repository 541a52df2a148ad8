// Package webpage serves one page about a cluster, and what it shows as JSON.
//
//	GET /            the page; it fetches /api/state every second and draws it
//	GET /api/state   groups with their nodes, newest jobs
//
// The page is embedded in the program and loads nothing from elsewhere. It shows
// the state that a [Source] returns, such as a frontend, and changes nothing.
//
// Every state is read once however many browsers are open: answers are kept for
// a quarter of a second. A source that does not answer leaves the page with what
// it showed last and a line about that.
//
// A page of another site could have a browser ask here by a name that leads to
// this machine; requests by a name other than localhost or an address are
// refused.
package webpage
