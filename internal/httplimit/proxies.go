package httplimit

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are trusted to report their clients' addresses.
type Proxies []netip.Prefix

// Trusts reports whether an address belongs to a trusted proxy.
func (p Proxies) Trusts(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(proxy netip.Prefix) bool { return proxy.Contains(address.Unmap()) })
}

// Client returns a request sender's address: the connection's remote address, or the address reported by a trusted
// proxy there. Every proxy appends its caller's address, so addresses are read from the right up to the first untrusted
// address; addresses further left may be forged. A proxy appends to only one header and passes the other on unchanged,
// so if a request has both headers, both are ignored.
func (p Proxies) Client(r *http.Request) netip.Addr {
	client := Address(r.RemoteAddr)
	plain, structured := r.Header.Values("X-Forwarded-For"), r.Header.Values("Forwarded")
	if !p.Trusts(client) || len(plain) > 0 && len(structured) > 0 {
		return client
	}
	names := strings.Split(strings.Join(append(plain, structured...), ","), ",")
	for _, name := range slices.Backward(names) {
		if len(structured) > 0 {
			name = forwardedFor(name)
		}
		address := Address(strings.TrimSpace(name))
		if !address.IsValid() {
			break
		}
		if client = address; !p.Trusts(client) {
			break
		}
	}
	return client
}

// forwardedFor returns the parameter for in a Forwarded header element, without quotes.
func forwardedFor(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// Address reads an address, with or without a port. The result for a bad text is not valid.
func Address(text string) netip.Addr {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().WithZone("")
	}
	address, _ := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return address.Unmap().WithZone("")
}
