package settings

// check notes everything that is wrong with complete settings.
func (n *notebook) check() {
	n.checkHost()
	n.checkHosts()
	n.checkListeners()
	n.checkClientTLS()
	n.checkRaftTLS()
	n.checkFiles()
	n.checkLimits()
	n.checkExposure()
}
