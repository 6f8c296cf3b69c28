package settings

import (
	"net"
	"strconv"
	"strings"
)

// checkAddress tells what is wrong with HOST:PORT, as the rest of a sentence that begins with it, or
// returns two empty texts.
func checkAddress(address string) (problem, remedy string) {
	const form = "write HOST:PORT, such as 127.0.0.1:7420"
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		if strings.Count(address, ":") > 1 && !strings.ContainsAny(address, "[/") {
			return "is not an address", "write an IPv6 address in brackets, such as [::1]:7420"
		}
		return "is not an address", form
	}
	number, err := strconv.Atoi(port)
	switch {
	case err != nil || number < 0 || number > 65535:
		return "has no possible port", "give one from 1 to 65535"
	case number == 0:
		return "would get another port at every start", "give one from 1 to 65535"
	case len(address) > MaxAddress:
		return "is longer than " + strconv.Itoa(MaxAddress) + " bytes", form
	case strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/\,;"'`, r) }):
		return "has a character that no host has", form
	}
	return "", ""
}

// isWildcard tells whether the host part of an address stands for all addresses of a machine.
func isWildcard(host string) bool {
	if host == "" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

// isLoopback tells whether an address can be reached from this machine only. Of a name other than
// localhost that is not known without asking somebody, so it does not count as one.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// clash tells whether two listeners cannot both have their addresses.
func clash(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB {
		return false
	}
	if hostA == hostB || isWildcard(hostA) || isWildcard(hostB) {
		return true
	}
	return isLoopback(a) && isLoopback(b) && (named(hostA) || named(hostB))
}

// named tells whether a host is given by name and not by number.
func named(host string) bool { return net.ParseIP(host) == nil }
