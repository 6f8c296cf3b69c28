package settings

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the command line flags for settings. Flags keep the given text: Load parses the text, and reports its
// mistakes together with all other mistakes.
type Flags struct {
	texts  map[string]*flagText
	config flagText
}

// flagText implements pflag.Value.
type flagText struct {
	kind  string
	texts []string
}

func (f *flagText) Set(text string) error {
	f.texts = append(f.texts, text)
	return nil
}

func (f *flagText) String() string { return strings.Join(f.texts, ",") }

// Type returns the placeholder for the value in the help.
func (f *flagText) Type() string { return f.kind }

// AddFlags adds a flag for every setting, and --config for the file, to a flag set.
func AddFlags(set *pflag.FlagSet) *Flags {
	f := &Flags{texts: make(map[string]*flagText, len(table))}
	for i := range table {
		r := &table[i]
		text := &flagText{kind: r.hint}
		f.texts[r.name] = text
		set.Var(text, r.name, r.help)
		if r.bare() != "" {
			set.Lookup(r.name).NoOptDefVal = r.bare()
		}
	}
	f.config.kind = "FILE"
	set.Var(&f.config, fileSetting, "YAML file with settings. Flags and the environment override it")
	return f
}

// bare returns the value for a flag given without a value, empty if the flag requires one.
func (r *row) bare() string {
	var s Settings
	switch r.field(&s).(type) {
	case form[bool]:
		return "true"
	case form[Parts]:
		return PartsAll.String()
	}
	return ""
}

// textsOf returns the texts given for a setting's flag, nil if the flag was not given.
func (f *Flags) textsOf(name string) []string {
	if f == nil {
		return nil
	}
	return f.texts[name].texts
}

// WriteUsage writes all flags under their headings, for a command's help.
func WriteUsage(w io.Writer) {
	fmt.Fprintf(w, "%s:\n", "Settings from a file")
	writeFlag(w, fileSetting+" FILE", "YAML file with settings. Flags and the environment override it", "")
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n", g)
		for i := range table {
			if r := &table[i]; r.group == g {
				writeFlag(w, r.usage(), r.help, r.fallback())
			}
		}
	}
}

// Names lists the flags under their headings, without help texts.
func Names() string {
	var b strings.Builder
	for _, g := range groups {
		line := string(g) + ":"
		for i := range table {
			if r := &table[i]; r.group == g {
				line += " --" + r.name
			}
		}
		fmt.Fprintf(&b, "%s\n", strings.Join(wrap(line, usageWidth), "\n  "))
	}
	return b.String()
}

// usage returns the flag with its value placeholder.
func (r *row) usage() string {
	switch {
	case r.hint == "":
		return r.name
	case r.bare() != "":
		return r.name + "[=" + r.hint + "]"
	}
	return r.name + " " + r.hint
}

const usageWidth = 96

func writeFlag(w io.Writer, usage, help, fallback string) {
	if fallback != "" && fallback != "false" {
		help += " (default " + fallback + ")"
	}
	fmt.Fprintf(w, "  --%s\n", usage)
	for _, line := range wrap(help, usageWidth-8) {
		fmt.Fprintf(w, "        %s\n", line)
	}
}

// wrap breaks a text between words into lines with at most width bytes.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
