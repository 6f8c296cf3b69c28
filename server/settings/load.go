package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// Sources are where settings may be given. A flag goes before the environment, the environment before the file, and the
// file before the defaults.
type Sources struct {
	// Flags is what AddFlags returned, after the command line was parsed. Nil: there are no flags.
	Flags *Flags
	// Environment has lines of the form NAME=TEXT, as os.Environ returns them. A variable that is empty is not given.
	Environment []string
	// File is the path of a YAML file. Where it is empty, --config and SIGNALBOX_CONFIG name one.
	File string
}

// Load returns the settings of the sources, complete and checked. The error is Mistakes: all of them. With an error it
// returns the settings as far as they could be parsed, so that the error can be logged in the form that they ask for.
func Load(from Sources) (Settings, error) {
	s := Defaults()
	s.origins = make(map[string]string)
	c := &checker{settings: &s}
	environment := variables(from.Environment)

	var file map[string]given
	if path, where := from.file(environment); path != "" {
		file = c.readFile(path, where)
	}
	for i := range table {
		r := &table[i]
		if found, ok := file[r.name]; ok {
			c.apply(r, found)
		}
		if text := environment[r.variable()]; text != "" {
			c.apply(r, given{[]string{text}, r.variable() + "=" + text})
		}
		if texts := from.Flags.textsOf(r.name); len(texts) > 0 {
			c.apply(r, given{texts, asFlag(r, texts)})
		}
	}
	s.warnMisspelt(environment)
	s.complete(c)
	c.check()
	return s, c.err()
}

// Complete returns the settings with what follows for fields that are empty, and all that is wrong with them: an error
// that is Mistakes, or nil. What Load returned is complete; completed again after a change, what followed keeps its
// value.
func (s Settings) Complete() (Settings, error) {
	s.warnings = nil
	if s.alone {
		s.alone, s.Hosts = false, nil // they follow again
	}
	c := &checker{settings: &s}
	s.complete(c)
	c.check()
	return s, c.err()
}

// apply puts what a source has into the settings.
func (c *checker) apply(r *row, from given) {
	c.settings.origins[r.name] = from.where
	err := r.field(c.settings).parse(from.texts)
	if err == nil {
		return
	}
	var wrong *badValue
	if !errors.As(err, &wrong) {
		wrong = &badValue{problem: err.Error(), remedy: "docs/settings.md shows how it is written"}
	}
	c.reject(r.name, wrong.problem, wrong.remedy)
}

// file is the path of the file of settings, and where that was given.
func (s *Sources) file(environment map[string]string) (path, where string) {
	variable := variableOf(fileSetting)
	switch {
	case s.File != "":
		return s.File, "--" + fileSetting + " " + s.File
	case s.Flags != nil && len(s.Flags.config.texts) > 0:
		path = last(s.Flags.config.texts)
		return path, "--" + fileSetting + " " + path
	case environment[variable] != "":
		path = environment[variable]
		return path, variable + "=" + path
	}
	return "", ""
}

// variables are those of the environment that may be meant for this program.
func variables(environment []string) map[string]string {
	found := make(map[string]string)
	for _, line := range environment {
		if name, text, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, variablePrefix) {
			found[name] = strings.TrimSpace(text)
		}
	}
	return found
}

// warnMisspelt warns of variables that look like misspelt settings. Other variables with the same prefix are no
// mistake: Kubernetes makes SIGNALBOX_PORT and its like for a service of that name.
func (s *Settings) warnMisspelt(environment map[string]string) {
	known := map[string]bool{variableOf(fileSetting): true}
	for i := range table {
		known[table[i].variable()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		if known[name] {
			continue
		}
		if near := nearest(strings.TrimPrefix(name, variablePrefix)); near != "" {
			s.sourceWarnings = append(s.sourceWarnings,
				fmt.Sprintf("%s is no setting and counts for nothing; did you mean %s?", name, variableOf(near)))
		}
	}
}

// asFlag shows a flag as it was given.
func asFlag(r *row, texts []string) string {
	flag := "--" + r.flagName()
	if r.bare() != "" {
		return flag + "=" + strings.Join(texts, ",")
	}
	return flag + " " + strings.Join(texts, " "+flag+" ")
}

// complete fills what follows from other settings. What would follow from wrong ones stays empty: check reports those.
func (s *Settings) complete(c *checker) {
	s.Hosts = slices.Clone(s.Hosts)
	slices.SortStableFunc(s.Hosts, func(a, b FirstHost) int { return strings.Compare(a.Name, b.Name) })
	if s.Name == "" && !c.rejected("name", "hosts") {
		switch len(s.Hosts) {
		case 0:
			s.Name = DefaultName
		case 1:
			s.Name = s.Hosts[0].Name
		}
	}
	listed := addressOf(s.Hosts, s.Name)
	otherwise := Off
	if len(s.Hosts) > 0 || c.rejected("hosts") {
		otherwise = DefaultRaftListen // which of them this one is is not known: check says so
	}
	s.RaftListen = wildcard(cmp.Or(s.RaftListen, listed, otherwise))
	if listens(s.RaftListen) {
		s.RaftAdvertise = cmp.Or(s.RaftAdvertise, listed, s.RaftListen)
	}
	s.RaftSecretFile = cmp.Or(s.RaftSecretFile, s.keptSecret())
	if len(s.Hosts) == 0 && !c.rejected("hosts") {
		s.alone = true
		s.Hosts = []FirstHost{{Name: s.Name, Raft: s.RaftAdvertise}}
	}

	s.TLSListen = cmp.Or(s.TLSListen, Off)
	if s.Listen == "" {
		s.Listen = Off
		if s.TLSListen == Off {
			s.Listen = DefaultListen
		}
	}
	s.AdminListen = cmp.Or(s.AdminListen, Off)
	if s.HTTPListen == "" {
		s.httpByDefault, s.HTTPListen = true, DefaultHTTPListen
		if s.TLSClientCA != "" {
			s.HTTPListen = Off // a gateway cannot pass on what clients show there
		}
	}
	if s.ClientAdvertise == "" {
		s.ClientAdvertise = s.TLSListen
		if s.TLSListen == Off {
			s.ClientAdvertise = s.Listen
		}
	}
}

// wildcard names the address that stands for all of a machine's, where only a port was given: the log
// wants a name or a number before the port.
func wildcard(address string) string {
	if strings.HasPrefix(address, ":") {
		return "0.0.0.0" + address
	}
	return address
}

// AdminAdvertise is the address of the admin listener as others may reach it, empty where there is none. A listener on
// all addresses is reached at the host of ClientAdvertise.
func (s *Settings) AdminAdvertise() string {
	if !s.ServesAdmin() {
		return ""
	}
	host, port, err := net.SplitHostPort(s.AdminListen)
	if err != nil || !isWildcard(host) {
		return s.AdminListen
	}
	client, _, err := net.SplitHostPort(s.ClientAdvertise)
	if err != nil {
		return s.AdminListen
	}
	return net.JoinHostPort(client, port)
}

// NamesOverHTTP returns the names by which HTTP requests may address this host: HTTPNames, the name of the host, and
// the host parts of the addresses that the host listens at or advertises.
func (s *Settings) NamesOverHTTP() []string {
	names := append(slices.Clone(s.HTTPNames), s.Name)
	for _, address := range []string{s.AdminListen, s.HTTPListen, s.ClientAdvertise, s.RaftAdvertise} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" && !slices.Contains(names, host) {
			names = append(names, host)
		}
	}
	return names
}
