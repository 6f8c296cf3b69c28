package zookeeper

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// DefaultJar is the server's path in Debian's package zookeeper.
const DefaultJar = "/usr/share/java/zookeeper.jar"

// Installation is a runnable ZooKeeper.
type Installation struct {
	Jar     string
	Java    string
	Version string
}

// Find looks for a ZooKeeper. The error names the missing part, and its installation.
func Find(jar string) (Installation, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return Installation{}, fmt.Errorf("there is no java in the PATH; apt-get install zookeeper brings both")
	}
	if _, err := os.Stat(jar); err != nil {
		return Installation{}, fmt.Errorf("there is no %s; apt-get install zookeeper brings it", jar)
	}
	printed, err := exec.Command(java, "-cp", jar, "org.apache.zookeeper.version.VersionInfoMain").CombinedOutput()
	if err != nil {
		return Installation{}, fmt.Errorf("%s does not run with %s: %w: %.300s", jar, java, err, printed)
	}
	return Installation{Jar: jar, Java: java, Version: versionOf(string(printed))}, nil
}

// versionOf reads the version from "Apache ZooKeeper, version 3.8.0 2022-02-25 08:49 UTC".
func versionOf(printed string) string {
	_, after, _ := strings.Cut(printed, "version ")
	version, _, _ := strings.Cut(after, " ")
	return strings.TrimSpace(version)
}

// writeConfig writes a server's files to its directory and returns the path of its config.
func writeConfig(dir string, id int, config string) (string, error) {
	files := map[string]string{"zoo.cfg": config, "myid": fmt.Sprintln(id)}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "zoo.cfg"), nil
}
