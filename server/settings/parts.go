package settings

import (
	"fmt"
	"strings"
)

// Parts are the sides from which a host can be reached.
type Parts uint8

// The parts that may be left without protection.
const (
	PartClients Parts = 1 << iota
	PartRaft
	PartAdmin

	PartsAll = PartClients | PartRaft | PartAdmin
)

var partNames = []struct {
	name string
	part Parts
}{{"clients", PartClients}, {"raft", PartRaft}, {"admin", PartAdmin}}

// ParseParts reads names with commas between them. A plain true means all of them, false and nothing
// mean none.
func ParseParts(text string) (Parts, error) {
	var parts Parts
	for name := range strings.SplitSeq(text, ",") {
		part, err := parsePart(strings.ToLower(strings.TrimSpace(name)))
		if err != nil {
			return 0, err
		}
		parts |= part
	}
	return parts, nil
}

func parsePart(name string) (Parts, error) {
	switch name {
	case "", "false", "none":
		return 0, nil
	case "true", "all":
		return PartsAll, nil
	}
	for _, p := range partNames {
		if p.name == name {
			return p.part, nil
		}
	}
	return 0, fmt.Errorf("%q is no part of a host", name)
}

// Has tells whether all of these parts are among the parts.
func (p Parts) Has(all Parts) bool { return p&all == all }

// String returns the names with commas between them, empty for none.
func (p Parts) String() string {
	if p == PartsAll {
		return "all"
	}
	var names []string
	for _, known := range partNames {
		if p.Has(known.part) {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ",")
}
