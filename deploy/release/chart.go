package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// chart writes the chart in deploy/chart. The release version becomes the chart version and, as the application
// version, the default image tag.
func (j *job) chart() error {
	root := filepath.Join(j.root, "deploy", "chart")
	var list []item
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if relative == "Chart.yaml" {
			if text, err = j.version.ofChart(string(text)); err != nil {
				return err
			}
		}
		list = append(list, item{path: filepath.ToSlash(relative), mode: 0o644, content: text})
		return nil
	})
	if err != nil {
		return err
	}
	text, err := pack("signalbox", list, j.version.date)
	if err != nil {
		return err
	}
	return j.write("signalbox-chart-"+j.version.number+".tgz", text)
}

// ofChart replaces both versions in the chart description. In the source tree they name an image built by hand, as in
// deploy/kubernetes. An unknown line format is an error, because the release would otherwise keep the old version.
func (v *version) ofChart(text string) ([]byte, error) {
	for from, to := range map[string]string{
		"\nversion: 0.0.0\n": "version: " + v.number, "\nappVersion: local\n": "appVersion: " + v.number,
	} {
		if strings.Count(text, from) != 1 {
			return nil, fmt.Errorf("deploy/chart/Chart.yaml has no line %q", strings.TrimSpace(from))
		}
		text = strings.Replace(text, from, "\n"+to+"\n", 1)
	}
	return []byte(text), nil
}
