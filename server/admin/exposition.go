package admin

import (
	"bytes"
	_ "embed"
	"strings"
	"sync"
)

// family is the type and help text shared by all series with one name.
type family struct{ kind, help string }

// familyTable has a line for every metric family in this program: name, type and help, separated by tabs. A test
// compares the table with docs/metrics.md; -update regenerates the table from docs/metrics.md.
//
//go:embed families.txt
var familyTable string

var families = sync.OnceValue(func() map[string]family {
	all := make(map[string]family)
	for line := range strings.Lines(familyTable) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		kind, help, _ := strings.Cut(rest, "\t")
		all[name] = family{kind, help}
	}
	return all
})

// foreign maps name prefixes of third-party metric families to the program that defines them.
var foreign = map[string]string{
	"go":         "of the Go runtime",
	"process":    "of the process, as the operating system counts it",
	"dragonboat": "of the Raft engine",
}

// exposition converts metrics to the Prometheus format: all series in a family together, below their help and type.
// Metric writers need not know the format.
type exposition struct {
	order []string
	found map[string]*exposed
}

type exposed struct {
	family
	samples bytes.Buffer
}

func expose(text []byte) []byte {
	x := exposition{found: make(map[string]*exposed)}
	for line := range bytes.Lines(text) {
		x.add(string(line))
	}
	var out bytes.Buffer
	for _, name := range x.order {
		if f := x.found[name]; f.samples.Len() > 0 {
			out.WriteString("# HELP " + name + " " + helpEscapes.Replace(f.help) + "\n# TYPE " + name + " " + f.kind +
				"\n")
			f.samples.WriteTo(&out)
		}
	}
	return out.Bytes()
}

var helpEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// add parses a line. Comments are ignored, except the types of families missing from the table.
func (e *exposition) add(line string) {
	if typed, is := strings.CutPrefix(line, "# TYPE "); is {
		name, kind, _ := strings.Cut(strings.TrimSpace(typed), " ")
		if _, ours := families()[name]; !ours && !strings.HasSuffix(name, "_total") { // the library's gauges
			e.of(name).kind = kind
		}
		return
	}
	if line[0] == '#' || line == "\n" {
		return
	}
	name := line[:max(0, strings.IndexAny(line, "{ "))]
	e.of(e.familyOf(name)).samples.WriteString(line)
}

// familyOf returns the family name for a sample.
func (e *exposition) familyOf(sample string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, is := strings.CutSuffix(sample, suffix); is {
			if kind := e.kindOf(name); kind == "histogram" || kind == "summary" {
				return name
			}
		}
	}
	return sample
}

func (e *exposition) kindOf(name string) string {
	if f := e.found[name]; f != nil {
		return f.kind
	}
	return families()[name].kind
}

// of returns a family with its type and help, as far as known.
func (e *exposition) of(name string) *exposed {
	f := e.found[name]
	if f == nil {
		f = &exposed{family: familyNamed(name)}
		e.found[name], e.order = f, append(e.order, name)
	}
	return f
}

func familyNamed(name string) family {
	if f, known := families()[name]; known {
		return f
	}
	prefix, rest, _ := strings.Cut(name, "_")
	kind := "gauge"
	if strings.HasSuffix(name, "_total") {
		kind = "counter"
	}
	return family{kind, strings.ReplaceAll(rest, "_", " ") + ", " + foreign[prefix]}
}
