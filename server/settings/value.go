package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a field of Settings as text. Every source of settings hands over text, so the same rules hold
// for all of them.
type value interface {
	// parse replaces the field by what a source said: one text, or as many as there are for a list.
	parse(said []string) error
	// text is the field as the docs show it, empty where it is not set.
	text() string
}

// badValue is what parse returns: what is wrong, and what to say instead.
type badValue struct{ problem, remedy string }

func (b *badValue) Error() string { return b.problem + "; " + b.remedy }

func bad(problem, remedy string) error { return &badValue{problem, remedy} }

// last is the text that counts where a setting that is no list was said more than once.
func last(said []string) string { return strings.TrimSpace(said[len(said)-1]) }

type textValue struct{ field *string }

func (v textValue) parse(said []string) error {
	*v.field = last(said)
	return nil
}

func (v textValue) text() string { return *v.field }

type wordValue struct {
	field   *string
	allowed []string
}

func (v wordValue) parse(said []string) error {
	word := strings.ToLower(last(said))
	if !slices.Contains(v.allowed, word) {
		return bad("there is no such choice", "give "+strings.Join(v.allowed, " or "))
	}
	*v.field = word
	return nil
}

func (v wordValue) text() string { return *v.field }

type switchValue struct{ field *bool }

func (v switchValue) parse(said []string) error {
	on, err := strconv.ParseBool(last(said))
	if err != nil {
		return bad("it is neither true nor false", "give true or false")
	}
	*v.field = on
	return nil
}

func (v switchValue) text() string { return strconv.FormatBool(*v.field) }

type countValue struct{ field *int }

func (v countValue) parse(said []string) error {
	n, err := strconv.Atoi(last(said))
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

func (v sizeValue) parse(said []string) error {
	size, err := ParseSize(last(said))
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

func (v durationValue) parse(said []string) error {
	d, err := time.ParseDuration(last(said))
	if err != nil {
		return bad("it is not a length of time", "write it like 20ms, 10s or 2m")
	}
	*v.field = d
	return nil
}

func (v durationValue) text() string { return v.field.String() }

type levelValue struct{ field *slog.Level }

func (v levelValue) parse(said []string) error {
	switch strings.ToLower(last(said)) {
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

func (v partsValue) parse(said []string) error {
	parts, err := ParseParts(strings.Join(said, ","))
	if err != nil {
		return bad(err.Error(), "give clients, raft, admin or all, with commas between them")
	}
	*v.field = parts
	return nil
}

func (v partsValue) text() string { return v.field.String() }

type hostsValue struct{ field *[]FirstHost }

func (v hostsValue) parse(said []string) error {
	hosts, err := ParseHosts(strings.Join(said, ","))
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

func (v namesValue) parse(said []string) error {
	var names []string
	for _, name := range strings.Split(strings.Join(said, ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			continue
		}
		if strings.ContainsAny(name, ":/ *[]") {
			return bad(strconv.Quote(name)+" is not the name of a host", "give names without ports, such as box.example.com")
		}
		names = append(names, name)
	}
	*v.field = names
	return nil
}

func (v namesValue) text() string { return strings.Join(*v.field, ",") }
