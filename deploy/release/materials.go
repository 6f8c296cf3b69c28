package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// component is a part of a bill of materials of CycloneDX.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// goSum is the name of the property with the checksum of a module, in the form of go.sum.
const goSum = "golang:sum"

// materials writes the bill of materials of a product: the modules in the build information of the programs for all
// systems, and the version of Go. Build information comes from the linker, so the bill has no module beside the
// program, and misses no module in a binary.
func (j *job) materials(p *product, builds []build) error {
	parts := make(map[string]component)
	add := func(path, version, sum string) {
		c := component{Type: "library", Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version}
		if c.Ref = c.PURL; sum != "" {
			c.Properties = []property{{goSum, sum}}
		}
		parts[c.Ref] = c
	}
	for _, b := range builds {
		add("stdlib", strings.TrimPrefix(b.info.GoVersion, "go"), "")
		for _, m := range b.info.Deps {
			version, sum := m.Version, m.Sum
			if m.Replace != nil && m.Replace.Version == "" { // the source tree itself
				version, sum = "v"+j.version.number, ""
			}
			add(m.Path, version, sum)
		}
	}
	byRef := func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) }
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": j.version.stamp(),
			"component": component{
				Type: "application", Ref: p.name, Name: p.name, Version: "v" + j.version.number,
				PURL:       "pkg:golang/" + builds[0].info.Main.Path + "@v" + j.version.number,
				Properties: []property{{"git:commit", j.version.commit}},
			},
		},
		"components": slices.SortedFunc(maps.Values(parts), byRef),
	}, "", "  ")
	if err != nil {
		return err
	}
	return j.write(fmt.Sprintf("%s_%s.cdx.json", p.name, j.version.number), append(text, '\n'))
}
