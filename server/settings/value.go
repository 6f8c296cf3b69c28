package settings

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/internal/bytesize"
)

// value is a Settings field as text. All sources provide text, so the same rules apply to all of them.
type value interface {
	// parse sets the field from a source's texts: one text, or any number for a list.
	parse(texts []string) error
	// text returns the field in documentation form, empty if unset.
	text() string
}

// form is a value with one type: the field, and functions that parse and format its text.
type form[T any] struct {
	field *T
	read  func(texts []string) (T, error)
	show  func(T) string
}

func (f form[T]) parse(texts []string) error {
	v, err := f.read(texts)
	if err == nil {
		*f.field = v
	}
	return err
}

func (f form[T]) text() string { return f.show(*f.field) }

// valueOf returns a field's value, by the field's type. Rows whose type has several forms create their own value.
func valueOf(field any) value {
	switch f := field.(type) {
	case *string:
		return form[string]{f, readText, shown[string]}
	case *bool:
		return form[bool]{f, single(strconv.ParseBool, "neither true nor false", "give true or false"),
			strconv.FormatBool}
	case *int:
		return form[int]{f, single(strconv.Atoi, "not a whole number", "give a number such as 4"), shown[int]}
	case *Size:
		return form[Size]{f, single(bytesize.Parse, "not a size",
			"give a size such as 65536, 64KiB or 2GiB"), shown[Size]}
	case *time.Duration:
		return form[time.Duration]{f, single(time.ParseDuration, "not a duration",
			"give a duration such as 20ms, 10s or 2m"), time.Duration.String}
	case *slog.Level:
		return form[slog.Level]{f, readLevel, func(l slog.Level) string { return strings.ToLower(l.String()) }}
	case *Parts:
		return form[Parts]{f, readParts, Parts.String}
	case *[]InitialHost:
		return form[[]InitialHost]{f, func(texts []string) ([]InitialHost, error) { return ParseHosts(joined(texts)) },
			FormatHosts}
	case *[]netip.Prefix:
		return form[[]netip.Prefix]{f, readNetworks, func(list []netip.Prefix) string {
			return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
		}}
	}
	panic(fmt.Sprintf("settings: no value is a %T", field))
}

// badValue is an error from parse: the problem and the remedy.
type badValue struct{ problem, remedy string }

func (b *badValue) Error() string { return b.problem + "; " + b.remedy }

func bad(problem, remedy string) error { return &badValue{problem, remedy} }

// last returns the text that applies, if a setting other than a list was given more than once.
func last(texts []string) string { return strings.TrimSpace(texts[len(texts)-1]) }

// single parses the text that applies with a function whose errors are not meant for operators.
func single[T any](read func(string) (T, error), problem, remedy string) func([]string) (T, error) {
	return func(texts []string) (T, error) {
		v, err := read(last(texts))
		if err != nil {
			err = bad(problem, remedy)
		}
		return v, err
	}
}

func readText(texts []string) (string, error) { return last(texts), nil }

// shown formats a value for the docs, empty for zero.
func shown[T comparable](v T) string {
	if v == *new(T) {
		return ""
	}
	return fmt.Sprint(v)
}

func joined(texts []string) string { return strings.Join(texts, ",") }

// items returns a list's elements, which are comma-separated in every text.
func items(texts []string) (list []string) {
	for item := range strings.SplitSeq(joined(texts), ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// readListener parses a listen address. An empty address disables the listener.
func readListener(texts []string) (string, error) { return cmp.Or(last(texts), Off), nil }

func readLogFormat(texts []string) (string, error) {
	word := strings.ToLower(last(texts))
	if word != FormatText && word != FormatJSON {
		return "", bad("unknown value", "give "+FormatText+" or "+FormatJSON)
	}
	return word, nil
}

func readLevel(texts []string) (slog.Level, error) {
	level, known := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "warning": slog.LevelWarn,
		"error": slog.LevelError,
	}[strings.ToLower(last(texts))]
	if !known {
		return level, bad("unknown log level", "give debug, info, warn or error")
	}
	return level, nil
}

func readParts(texts []string) (Parts, error) {
	parts, err := ParseParts(joined(texts))
	if err != nil {
		err = bad(err.Error(), "give clients, raft, admin, http or all, separated by commas")
	}
	return parts, err
}

// readNames parses a list of host names, without ports.
func readNames(texts []string) ([]string, error) {
	names := items([]string{strings.ToLower(joined(texts))})
	for _, name := range names {
		if strings.ContainsAny(name, ":/ *[]") {
			return nil, bad(strconv.Quote(name)+" is not a valid host name",
				"give host names without ports, such as box.example.com")
		}
	}
	return names, nil
}

// readNetworks parses a list of networks. A single address is the smallest network.
func readNetworks(texts []string) (networks []netip.Prefix, _ error) {
	for _, text := range items(texts) {
		network, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() || network.Addr().Zone() != "" {
			return nil, bad(strconv.Quote(text)+" is neither an address nor a network",
				"give addresses or networks such as 10.0.0.7, 10.0.0.0/8 or 2001:db8::/48")
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// readAddresses parses a list of addresses, and removes duplicates.
func readAddresses(texts []string) (addresses []string, _ error) {
	for _, address := range items(texts) {
		if !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}

// Size is a number of bytes. As text it is a number with an optional unit: 65536, 64KiB, 2GiB.
type Size = bytesize.Size
