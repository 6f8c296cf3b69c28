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

// Sources are the places where settings may be given. A flag overrides the environment, the environment overrides the
// file, and the file overrides the defaults.
type Sources struct {
	// Flags is the result of AddFlags, after the command line was parsed. nil means no flags.
	Flags *Flags
	// Environment has NAME=TEXT entries, as returned by os.Environ. An empty variable counts as unset.
	Environment []string
	// File is the path of a YAML file. If empty, --config or SIGNALBOX_CONFIG may specify the file.
	File string
}

// Load returns the complete, checked settings from the sources. The error is Mistakes, with all of them. With an
// error, Load returns the settings as far as they were parsed, so that the caller can log the error in the requested
// format.
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
	if token := environment[joinTokenVariable]; token != "" && len(from.Flags.textsOf("join-token-file")) == 0 {
		s.JoinToken, s.JoinTokenFile, s.origins["join-token-file"] = token, "", joinTokenVariable
	}
	s.warnMisspelt(environment)
	s.complete(c)
	c.check()
	return s, c.err()
}

// Complete fills empty fields from other settings, and returns the settings with all mistakes: an error with type
// Mistakes, or nil. Load's result is complete; after a change and a second Complete, previously filled fields keep
// their values.
func (s Settings) Complete() (Settings, error) {
	s.warnings = nil
	if s.alone {
		s.alone, s.InitialHosts = false, nil // both are filled again
	}
	c := &checker{settings: &s}
	s.complete(c)
	c.check()
	return s, c.err()
}

// apply copies a source's text into the settings.
func (c *checker) apply(r *row, from given) {
	c.settings.origins[r.name] = from.where
	err := r.field(c.settings).parse(from.texts)
	if err == nil {
		return
	}
	var wrong *badValue
	if !errors.As(err, &wrong) {
		wrong = &badValue{problem: err.Error(), remedy: "see docs/settings.md for the format"}
	}
	c.reject(r.name, wrong.problem, wrong.remedy)
}

// file returns the settings file's path, and which source specified it.
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

// variables returns the environment variables with this program's prefix.
func variables(environment []string) map[string]string {
	found := make(map[string]string)
	for _, line := range environment {
		if name, text, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, variablePrefix) {
			found[name] = strings.TrimSpace(text)
		}
	}
	return found
}

// warnMisspelt warns about variables that look like misspelt settings. Other variables with the prefix are valid:
// Kubernetes sets SIGNALBOX_PORT and other variables for a service with the name signalbox.
func (s *Settings) warnMisspelt(environment map[string]string) {
	known := map[string]bool{variableOf(fileSetting): true, joinTokenVariable: true}
	for i := range table {
		known[table[i].variable()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		if known[name] {
			continue
		}
		if near := nearest(strings.TrimPrefix(name, variablePrefix)); near != "" {
			s.sourceWarnings = append(s.sourceWarnings,
				fmt.Sprintf("unknown setting %s is ignored; did you mean %s?", name, variableOf(near)))
		}
	}
}

// asFlag formats a flag in command line notation.
func asFlag(r *row, texts []string) string {
	flag := "--" + r.name
	if r.bare() != "" {
		return flag + "=" + strings.Join(texts, ",")
	}
	return flag + " " + strings.Join(texts, " "+flag+" ")
}

// complete fills fields that are derived from other settings. Fields derived from invalid settings stay empty: check
// reports the invalid settings.
func (s *Settings) complete(c *checker) {
	s.InitialHosts = slices.Clone(s.InitialHosts)
	slices.SortStableFunc(s.InitialHosts, func(a, b InitialHost) int { return strings.Compare(a.Name, b.Name) })
	if s.Name == "" && !c.rejected("name", "initial-hosts") {
		switch len(s.InitialHosts) {
		case 0:
			s.Name = DefaultName
		case 1:
			s.Name = s.InitialHosts[0].Name
		}
	}
	listed := addressOf(s.InitialHosts, s.Name)
	otherwise := Off
	if len(s.InitialHosts) > 0 || c.rejected("initial-hosts") {
		otherwise = DefaultRaftListen // the host is not in the list: check reports the mistake
	}
	s.RaftListen = wildcard(cmp.Or(s.RaftListen, listed, otherwise))
	if listens(s.RaftListen) {
		s.RaftAdvertise = cmp.Or(s.RaftAdvertise, listed, s.RaftListen)
	}
	s.RaftSecretFile = cmp.Or(s.RaftSecretFile, s.keptSecret())
	if len(s.InitialHosts) == 0 && !c.rejected("initial-hosts") {
		s.alone = true
		s.InitialHosts = []InitialHost{{Name: s.Name, Raft: s.RaftAdvertise}}
	}

	s.completeMemory()
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
			s.HTTPListen = Off // a gateway cannot forward client certificates
		}
	}
	if s.Advertise == "" {
		s.Advertise = s.TLSListen
		if s.TLSListen == Off {
			s.Advertise = s.Listen
		}
	}
}

// wildcard completes an address without a host: the log requires a name or IP address before the port, so the address
// for all interfaces is used.
func wildcard(address string) string {
	if strings.HasPrefix(address, ":") {
		return "0.0.0.0" + address
	}
	return address
}

// AdminAdvertise returns the admin listener's address for other machines, empty without an admin listener. A listener
// on all addresses is advertised with ClientAdvertise's host.
func (s *Settings) AdminAdvertise() string {
	if !s.ServesAdmin() {
		return ""
	}
	host, port, err := net.SplitHostPort(s.AdminListen)
	client, _, wrong := net.SplitHostPort(s.Advertise)
	if err != nil || wrong != nil || !isWildcard(host) {
		return s.AdminListen
	}
	return net.JoinHostPort(client, port)
}

// NamesOverHTTP returns the names by which HTTP requests may address the local host: HTTPNames, the host name, and
// the host parts of its listen and advertised addresses.
func (s *Settings) NamesOverHTTP() []string {
	names := append(slices.Clone(s.HTTPAllowedHosts), s.Name)
	for _, address := range []string{s.AdminListen, s.HTTPListen, s.Advertise, s.RaftAdvertise} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" && !slices.Contains(names, host) {
			names = append(names, host)
		}
	}
	return names
}
