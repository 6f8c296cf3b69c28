package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// component is an entry in a CycloneDX bill of materials.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

// property is a named value in a component. CycloneDX has no dedicated field for a module checksum or a Git commit, so
// properties carry both.
type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// goSum is the property name for a module's checksum, in go.sum format.
const goSum = "golang:sum"

// materials writes a product's bill of materials: the modules from the build information in the programs for all
// systems, and the Go version. Build information comes from the linker, so the bill lists exactly the modules in the
// binaries.
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
