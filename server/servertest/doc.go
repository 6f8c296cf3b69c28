// Package servertest runs a complete server in a test; only disk and network are replaced. Start takes milliseconds,
// and the server stops with the test.
//
//	srv := servertest.Start(t)
//	c, err := client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial))
//
// The log is test/memlog and the connections are in memory, so a test can pause or partition a host, make it lose
// leadership, and use the virtual time of a testing/synctest bubble.
package servertest
