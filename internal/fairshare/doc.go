// Package fairshare divides a gateway's scarce resources equally among parties: connections, event streams, sessions,
// bytes, and turns to run.
//
// A [Party] is an address together with an accepted token. If a resource runs short, half belongs to parties with a
// token and half to parties without a token. The half with tokens is divided equally among tokens, and a token's share
// equally among the token's addresses. Unused shares go to the remaining parties. So programs at many addresses with
// one token keep their addresses' shares, and programs with many tokens behind one address keep their tokens' shares.
//
// A [Pool] bounds what parties hold. The pool takes units back from parties above their share, idle units first.
// [Turns] bound how many calls run. Parties take turns, in a [Queue]. Neither refuses a party below its share.
package fairshare

import "net/netip"

// Party is a resource user.
type Party struct {
	// Token identifies an accepted token. Token is empty for a caller without a token, and until hosts have accepted
	// the caller's token.
	Token string
	// Address is the caller's network; see Network.
	Address netip.Prefix
}

// Network returns an address's prefix for counting: an IPv4 address itself, or an IPv6 address's /64, because a client
// usually has a whole /64.
func Network(address netip.Addr) netip.Prefix {
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits)
	return prefix
}
