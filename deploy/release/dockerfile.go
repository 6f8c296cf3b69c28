package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// imageConfig describes an image's containers in OCI form. Healthcheck is a Docker extension that OCI programs ignore.
type imageConfig struct {
	User         string              `json:"User,omitempty"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts,omitempty"`
	Env          []string            `json:"Env,omitempty"`
	Entrypoint   []string            `json:"Entrypoint,omitempty"`
	Cmd          []string            `json:"Cmd,omitempty"`
	Volumes      map[string]struct{} `json:"Volumes,omitempty"`
	Labels       map[string]string   `json:"Labels,omitempty"`
	StopSignal   string              `json:"StopSignal,omitempty"`
	Healthcheck  *healthcheck        `json:"Healthcheck,omitempty"` // Docker's own
}

// healthcheck defines when Docker considers a container unhealthy. Durations are in nanoseconds, as Docker expects.
type healthcheck struct {
	Test        []string
	Interval    time.Duration `json:",omitempty"`
	Timeout     time.Duration `json:",omitempty"`
	StartPeriod time.Duration `json:",omitempty"`
	Retries     int           `json:",omitempty"`
}

// dockerStage is a Dockerfile's last stage: copies of the program and folders into an empty image, and the container
// description. Releases make images from the stage without Docker. An unknown instruction is an error, so that Docker
// images and release images never differ.
type dockerStage struct {
	config imageConfig
	copies []item // without content: the program, and folders
}

// readDockerfile reads the last stage.
func (j *job) readDockerfile(name string) (*dockerStage, error) {
	text, err := os.ReadFile(filepath.Join(j.root, name))
	if err != nil {
		return nil, err
	}
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	_, last, found := strings.Cut(joined, "\nFROM scratch\n")
	if !found {
		return nil, fmt.Errorf("%s has no stage from scratch", name)
	}
	s := new(dockerStage)
	for line := range strings.Lines(last) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if err := s.instruct(word, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, line, err)
		}
	}
	return s, nil
}

// instruct applies one instruction to the stage.
func (ds *dockerStage) instruct(word, rest string) (err error) {
	c := &ds.config
	switch word {
	case "COPY":
		err = ds.copy(strings.Fields(rest))
	case "USER":
		c.User = rest
	case "ENV":
		c.Env = append(c.Env, strings.Fields(rest)...)
	case "VOLUME":
		c.Volumes = map[string]struct{}{rest: {}}
	case "EXPOSE":
		c.ExposedPorts = make(map[string]struct{})
		for _, port := range strings.Fields(rest) {
			c.ExposedPorts[port+"/tcp"] = struct{}{}
		}
	case "STOPSIGNAL":
		c.StopSignal = rest
	case "ENTRYPOINT":
		err = json.Unmarshal([]byte(rest), &c.Entrypoint)
	case "CMD":
		err = json.Unmarshal([]byte(rest), &c.Cmd)
	case "HEALTHCHECK":
		c.Healthcheck, err = readHealthcheck(rest)
	default:
		err = fmt.Errorf("releases do not know the instruction %s", word)
	}
	return err
}

// copy notes a copy from the stage before. A target in a folder named bin is the program; a target elsewhere is an
// empty folder, for data.
func (ds *dockerStage) copy(words []string) (err error) {
	i := item{mode: 0o755}
	for len(words) > 2 {
		name, value, _ := strings.Cut(words[0], "=")
		switch name {
		case "--from":
		case "--chown":
			owner, _, _ := strings.Cut(value, ":")
			i.uid, err = strconv.Atoi(owner)
		case "--chmod":
			var mode uint64
			mode, err = strconv.ParseUint(value, 8, 12)
			i.mode = fs.FileMode(mode)
		default:
			err = fmt.Errorf("releases do not know %s", name)
		}
		if err != nil {
			return err
		}
		words = words[1:]
	}
	i.path = strings.TrimPrefix(words[1], "/")
	if path.Base(path.Dir(i.path)) != "bin" {
		i.mode |= fs.ModeDir
	}
	ds.copies = append(ds.copies, i)
	return nil
}

// readHealthcheck reads --interval=10s ... CMD ["program", ...].
func readHealthcheck(rest string) (*healthcheck, error) {
	flags, command, _ := strings.Cut(rest, "CMD ")
	h := new(healthcheck)
	if err := json.Unmarshal([]byte(command), &h.Test); err != nil {
		return nil, err
	}
	h.Test = append([]string{"CMD"}, h.Test...)
	durations := map[string]*time.Duration{
		"--interval": &h.Interval, "--timeout": &h.Timeout, "--start-period": &h.StartPeriod,
	}
	for _, flag := range strings.Fields(flags) {
		name, value, _ := strings.Cut(flag, "=")
		var err error
		if to := durations[name]; to != nil {
			*to, err = time.ParseDuration(value)
		} else {
			h.Retries, err = strconv.Atoi(value)
		}
		if err != nil {
			return nil, err
		}
	}
	return h, nil
}
