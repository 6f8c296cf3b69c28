package settings

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a field of Settings as text. All sources of settings hand over text, so equal rules hold for all of them.
type value interface {
	// parse replaces the field by the texts of a source: a single text, or any number for a list.
	parse(texts []string) error
	// text is the field in the form for the docs, empty for an unset field.
	text() string
}

// badValue is an error of parse: the fault, and the way out.
type badValue struct{ problem, remedy string }

func (b *badValue) Error() string { return b.problem + "; " + b.remedy }

func bad(problem, remedy string) error { return &badValue{problem, remedy} }

// last is the text that counts, if a setting other than a list was given more than once.
func last(texts []string) string { return strings.TrimSpace(texts[len(texts)-1]) }

type textValue struct{ field *string }

func (v textValue) parse(texts []string) error {
	*v.field = last(texts)
	return nil
}

func (v textValue) text() string { return *v.field }

// listenerValue is an address to listen at. An empty given address says that no listener is wanted.
type listenerValue struct{ textValue }

func (v listenerValue) parse(texts []string) error {
	*v.field = cmp.Or(last(texts), Off)
	return nil
}

type wordValue struct {
	field   *string
	allowed []string
}

func (v wordValue) parse(texts []string) error {
	word := strings.ToLower(last(texts))
	if !slices.Contains(v.allowed, word) {
		return bad("there is no such choice", "give "+strings.Join(v.allowed, " or "))
	}
	*v.field = word
	return nil
}

func (v wordValue) text() string { return *v.field }

type switchValue struct{ field *bool }

func (v switchValue) parse(texts []string) error {
	on, err := strconv.ParseBool(last(texts))
	if err != nil {
		return bad("it is neither true nor false", "give true or false")
	}
	*v.field = on
	return nil
}

func (v switchValue) text() string { return strconv.FormatBool(*v.field) }

type countValue struct{ field *int }

func (v countValue) parse(texts []string) error {
	n, err := strconv.Atoi(last(texts))
	if err != nil {
		return bad("it is not a whole number", "give one, such as 4")
	}
	*v.field = n
	return nil
}

func (v countValue) text() string {
	if *v.field == 0 {
		return ""
	}
	return strconv.Itoa(*v.field)
}

type sizeValue struct{ field *Size }

func (v sizeValue) parse(texts []string) error {
	size, err := ParseSize(last(texts))
	if err != nil {
		return bad("it is not a number of bytes", "write it like 65536, 64KiB or 2GiB")
	}
	*v.field = size
	return nil
}

func (v sizeValue) text() string {
	if *v.field == 0 {
		return ""
	}
	return v.field.String()
}

type durationValue struct{ field *time.Duration }

func (v durationValue) parse(texts []string) error {
	d, err := time.ParseDuration(last(texts))
	if err != nil {
		return bad("it is not a length of time", "write it like 20ms, 10s or 2m")
	}
	*v.field = d
	return nil
}

func (v durationValue) text() string { return v.field.String() }

type levelValue struct{ field *slog.Level }

func (v levelValue) parse(texts []string) error {
	switch strings.ToLower(last(texts)) {
	case "debug":
		*v.field = slog.LevelDebug
	case "info":
		*v.field = slog.LevelInfo
	case "warn", "warning":
		*v.field = slog.LevelWarn
	case "error":
		*v.field = slog.LevelError
	default:
		return bad("there is no such level", "give debug, info, warn or error")
	}
	return nil
}

func (v levelValue) text() string { return strings.ToLower(v.field.String()) }

type partsValue struct{ field *Parts }

func (v partsValue) parse(texts []string) error {
	parts, err := ParseParts(strings.Join(texts, ","))
	if err != nil {
		return bad(err.Error(), "give clients, raft, admin, http or all, with commas between them")
	}
	*v.field = parts
	return nil
}

func (v partsValue) text() string { return v.field.String() }

type hostsValue struct{ field *[]FirstHost }

func (v hostsValue) parse(texts []string) error {
	hosts, err := ParseHosts(strings.Join(texts, ","))
	if err != nil {
		var b *badValue
		if errors.As(err, &b) {
			return b
		}
		return fmt.Errorf("the list of hosts: %w", err)
	}
	*v.field = hosts
	return nil
}

func (v hostsValue) text() string { return FormatHosts(*v.field) }

// namesValue is a list of host names, without ports.
type namesValue struct{ field *[]string }

func (v namesValue) parse(texts []string) error {
	var names []string
	for _, name := range strings.Split(strings.Join(texts, ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			continue
		}
		if strings.ContainsAny(name, ":/ *[]") {
			return bad(strconv.Quote(name)+" is not the name of a host",
				"give names without ports, such as box.example.com")
		}
		names = append(names, name)
	}
	*v.field = names
	return nil
}

func (v namesValue) text() string { return strings.Join(*v.field, ",") }

// networksValue is a list of networks. A single address is the smallest network.
type networksValue struct{ field *[]netip.Prefix }

func (v networksValue) parse(texts []string) error {
	var networks []netip.Prefix
	for text := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() || network.Addr().Zone() != "" {
			return bad(strconv.Quote(text)+" is neither an address nor a network",
				"write them like 10.0.0.7, 10.0.0.0/8 or 2001:db8::/48")
		}
		networks = append(networks, network.Masked())
	}
	*v.field = networks
	return nil
}

func (v networksValue) text() string {
	texts := make([]string, len(*v.field))
	for i, network := range *v.field {
		texts[i] = network.String()
	}
	return strings.Join(texts, ",")
}

// addressesValue is a list of addresses.
type addressesValue struct{ field *[]string }

func (v addressesValue) parse(texts []string) error {
	var addresses []string
	for address := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		if address = strings.TrimSpace(address); address != "" && !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	*v.field = addresses
	return nil
}

func (v addressesValue) text() string { return strings.Join(*v.field, ",") }

// Size is a number of bytes. As text it is a number with or without a unit: 65536, 64KiB, 2GiB.
type Size uint64

var sizeUnits = []struct {
	name  string
	bytes Size
}{
	// The longest names come first, because every name ends with the last name of the list.
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"B", 1},
}

var errSize = errors.New("not a number of bytes; write it like 65536, 64KiB or 2GiB")

// ParseSize reads a size from text.
func ParseSize(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), Size(1)
	for _, u := range sizeUnits {
		if strings.HasSuffix(number, u.name) {
			number, unit = strings.TrimSpace(strings.TrimSuffix(number, u.name)), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0, errSize
	}
	if n > math.MaxInt64/uint64(unit) {
		return 0, fmt.Errorf("more bytes than there can be; %w", errSize)
	}
	return Size(n) * unit, nil
}

// String returns the size in the largest unit with an exact result.
func (s Size) String() string {
	for _, u := range sizeUnits[:4] {
		if s >= u.bytes && s%u.bytes == 0 {
			return strconv.FormatUint(uint64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatUint(uint64(s), 10) + "B"
}
