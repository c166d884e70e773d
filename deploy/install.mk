# `make install` and `make uninstall`, with the usual variables (GNU coding standards): DESTDIR, PREFIX, bindir, sysconfdir and so
# on. Installs the program that `make release` built, and builds nothing, so root needs no Swift. Configuration that exists is
# not overwritten, and stays when everything else is uninstalled.

# The program to install.
ENROUTE = .build/release/enroute

DESTDIR =
PREFIX = /usr/local
prefix = $(PREFIX)
bindir = $(prefix)/bin
datadir = $(prefix)/share
docdir = $(datadir)/doc/enroute
mandir = $(datadir)/man
# Not $(prefix)/etc: a configuration is looked for here, wherever the program is.
sysconfdir = /etc
systemdsystemunitdir = $(prefix)/lib/systemd/system
sysusersdir = $(prefix)/lib/sysusers.d
tmpfilesdir = $(prefix)/lib/tmpfiles.d
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d

INSTALL = install
INSTALL_PROGRAM = $(INSTALL) -m 755
INSTALL_DATA = $(INSTALL) -m 644
# Configuration contains passwords. The group that may read it is set by systemd-tmpfiles.
INSTALL_CONFIGURATION = $(INSTALL) -m 640

UNITS = enroute@.service enroute-redis@.service
REDIS = live.conf ledger.conf sentinel.conf
# Files that the guides tell an operator to copy, edit or import.
SHARED = $(wildcard deploy/haproxy/*.cfg deploy/nginx/*.conf) deploy/prometheus/prometheus.yml deploy/prometheus/alertmanager.yml \
    deploy/prometheus/enroute.rules.yml deploy/prometheus/enroute-recording.rules.yml deploy/grafana/enroute-dashboard.json \
    $(ACCESS:%=deploy/redis/%)
# Nobody can sign in until an operator has set passwords in their copies in $(sysconfdir). Those in $(datadir) are for upgrades.
ACCESS = live.acl ledger.acl
DOCUMENTS = $(sort $(patsubst deploy/%,%,$(wildcard deploy/*.md deploy/*/*.md)))
EXAMPLES = enroute.env.example systemd/credentials.conf

# The files in this repository contain the default paths.
PLACES = sed -e 's|/usr/local/bin/|$(bindir)/|g' -e 's|/usr/local/share/doc/enroute|$(docdir)|g' \
    -e 's|/usr/local/share/|$(datadir)/|g' -e 's|/etc/enroute|$(sysconfdir)/enroute|g'

# $(call installed,from,to): a file with the paths of this installation.
installed = $(PLACES) $(1) > '$(DESTDIR)$(2)' && chmod 644 '$(DESTDIR)$(2)'
# $(call configured,from,to): the same, unless the file exists.
configured = test -e '$(DESTDIR)$(2)' || { $(INSTALL_CONFIGURATION) /dev/null '$(DESTDIR)$(2)' && $(PLACES) $(1) > '$(DESTDIR)$(2)'; }

# COMMAND $(call generated,to): a file with the output of a command.
generated = > '$(DESTDIR)$(1)' && chmod 644 '$(DESTDIR)$(1)'

.PHONY: install uninstall
install:
	@test -x '$(ENROUTE)' || { echo "error: $(ENROUTE) does not exist. Run \`make release\` first; it needs no root." >&2; exit 1; }
	@newer=$$(find Sources lua Package.swift -newer '$(ENROUTE)' -type f | head -n 1); [ -z "$$newer" ] || \
	    echo "warning: $$newer has changed since $(ENROUTE) was built; \`make release\` builds it again" >&2
	$(INSTALL) -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(systemdsystemunitdir)' '$(DESTDIR)$(sysusersdir)' '$(DESTDIR)$(tmpfilesdir)' \
	    '$(DESTDIR)$(datadir)/enroute/redis' '$(DESTDIR)$(bashcompletiondir)' '$(DESTDIR)$(zshcompletiondir)' \
	    '$(DESTDIR)$(fishcompletiondir)' '$(DESTDIR)$(mandir)/man1' '$(DESTDIR)$(docdir)/examples'
	$(INSTALL) -d -m 750 '$(DESTDIR)$(sysconfdir)/enroute' '$(DESTDIR)$(sysconfdir)/enroute-redis'
	$(INSTALL) -d -m 700 '$(DESTDIR)$(sysconfdir)/enroute/credentials'
	$(INSTALL_PROGRAM) '$(ENROUTE)' '$(DESTDIR)$(bindir)/enroute'
	$(foreach unit,$(UNITS),$(call installed,'deploy/systemd/$(unit)',$(systemdsystemunitdir)/$(unit)) && ):
	$(call installed,deploy/systemd/enroute.sysusers,$(sysusersdir)/enroute.conf)
	$(call installed,deploy/systemd/enroute.tmpfiles,$(tmpfilesdir)/enroute.conf)
	$(INSTALL_DATA) $(addprefix deploy/redis/,$(REDIS)) '$(DESTDIR)$(datadir)/enroute/redis/'
	$(foreach file,$(SHARED),$(INSTALL_DATA) -D '$(file)' '$(DESTDIR)$(datadir)/enroute/$(file:deploy/%=%)' && ):
	$(INSTALL_PROGRAM) deploy/haproxy/rolling-restart '$(DESTDIR)$(datadir)/enroute/haproxy/rolling-restart'
	'$(ENROUTE)' --generate-completion-script bash | sed '1{/^#!/d}' $(call generated,$(bashcompletiondir)/enroute)
	'$(ENROUTE)' --generate-completion-script zsh $(call generated,$(zshcompletiondir)/_enroute)
	'$(ENROUTE)' --generate-completion-script fish $(call generated,$(fishcompletiondir)/enroute.fish)
	'$(ENROUTE)' --help | deploy/systemd/manual "$$('$(ENROUTE)' --version)" $(call generated,$(mandir)/man1/enroute.1)
	$(INSTALL_DATA) LICENSE '$(DESTDIR)$(docdir)/LICENSE'
	$(foreach document,$(DOCUMENTS),$(INSTALL_DATA) -D 'deploy/$(document)' '$(DESTDIR)$(docdir)/$(document)' && ):
	$(foreach example,$(EXAMPLES),$(call installed,'deploy/$(example)',$(docdir)/examples/$(notdir $(example))) && ):
	$(call configured,deploy/enroute.env.example,$(sysconfdir)/enroute/enroute.env)
	$(foreach role,live ledger,$(call configured,'deploy/systemd/redis-$(role).conf',$(sysconfdir)/enroute-redis/$(role).conf) && ):
	$(foreach list,$(ACCESS),$(call configured,'deploy/redis/$(list)',$(sysconfdir)/enroute-redis/$(list)) && ):
	@test -n '$(DESTDIR)' || printf '%s\n' "Next, as root:" "  systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload" \
	    "$(docdir)/systemd/README.md continues from here."

uninstall:
	rm -f '$(DESTDIR)$(bindir)/enroute' $(foreach unit,$(UNITS),'$(DESTDIR)$(systemdsystemunitdir)/$(unit)') \
	    '$(DESTDIR)$(sysusersdir)/enroute.conf' '$(DESTDIR)$(tmpfilesdir)/enroute.conf' \
	    '$(DESTDIR)$(bashcompletiondir)/enroute' '$(DESTDIR)$(zshcompletiondir)/_enroute' \
	    '$(DESTDIR)$(fishcompletiondir)/enroute.fish' '$(DESTDIR)$(mandir)/man1/enroute.1'
	rm -rf '$(DESTDIR)$(datadir)/enroute' '$(DESTDIR)$(docdir)'
	@echo "The configuration in $(DESTDIR)$(sysconfdir)/enroute and $(DESTDIR)$(sysconfdir)/enroute-redis is still there."
